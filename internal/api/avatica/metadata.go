package avatica

import "strings"

// What drivers ask of the catalog are queries of INFORMATION_SCHEMA, with the columns that JDBC
// names (java.sql.DatabaseMetaData).

// catalogQuery returns the statement that answers a request for metadata, with the values of its
// parameters.
func catalogQuery(r *request) (string, []value) {
	q := &catalogBuilder{}
	switch r.Kind {
	case "getCatalogs":
		return "SELECT DISTINCT CATALOG_NAME AS TABLE_CAT FROM INFORMATION_SCHEMA.SCHEMATA ORDER BY TABLE_CAT", nil
	case "getTableTypes":
		return "SELECT DISTINCT TABLE_TYPE AS TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES ORDER BY TABLE_TYPE", nil
	case "getTypeInfo":
		return typeInfo, nil
	case "getTables":
		q.equal("TABLE_CATALOG", r.Catalog)
		q.like("TABLE_SCHEMA", r.SchemaPattern)
		q.like("TABLE_NAME", r.TablePattern)
		q.in("TABLE_TYPE", r.Types)
		return tablesQuery + q.where() + " ORDER BY TABLE_TYPE, TABLE_CAT, TABLE_SCHEM, TABLE_NAME", q.values
	case "getColumns":
		q.equal("TABLE_CATALOG", r.Catalog)
		q.like("TABLE_SCHEMA", r.SchemaPattern)
		q.like("TABLE_NAME", r.TablePattern)
		q.like("COLUMN_NAME", r.ColumnPattern)
		return columnsQuery + q.where() + " ORDER BY TABLE_CAT, TABLE_SCHEM, TABLE_NAME, ORDINAL_POSITION", q.values
	}
	q.equal("CATALOG_NAME", r.Catalog)
	q.like("SCHEMA_NAME", r.SchemaPattern)
	return schemasQuery + q.where() + " ORDER BY TABLE_CATALOG, TABLE_SCHEM", q.values
}

const (
	schemasQuery = "SELECT SCHEMA_NAME AS TABLE_SCHEM, CATALOG_NAME AS TABLE_CATALOG FROM INFORMATION_SCHEMA.SCHEMATA"

	tablesQuery = "SELECT TABLE_CATALOG AS TABLE_CAT, TABLE_SCHEMA AS TABLE_SCHEM, TABLE_NAME AS TABLE_NAME, TABLE_TYPE AS TABLE_TYPE, " +
		"CAST(NULL AS VARCHAR) AS REMARKS, CAST(NULL AS VARCHAR) AS TYPE_CAT, CAST(NULL AS VARCHAR) AS TYPE_SCHEM, " +
		"CAST(NULL AS VARCHAR) AS TYPE_NAME, CAST(NULL AS VARCHAR) AS SELF_REFERENCING_COL_NAME, CAST(NULL AS VARCHAR) AS REF_GENERATION " +
		"FROM INFORMATION_SCHEMA.TABLES"

	columnsQuery = "SELECT TABLE_CATALOG AS TABLE_CAT, TABLE_SCHEMA AS TABLE_SCHEM, TABLE_NAME AS TABLE_NAME, COLUMN_NAME AS COLUMN_NAME, " +
		"CAST(JDBC_TYPE AS INTEGER) AS DATA_TYPE, DATA_TYPE AS TYPE_NAME, -1 AS COLUMN_SIZE, -1 AS BUFFER_LENGTH, -1 AS DECIMAL_DIGITS, " +
		"-1 AS NUM_PREC_RADIX, CASE IS_NULLABLE WHEN 'YES' THEN 1 ELSE 0 END AS NULLABLE, CAST(NULL AS VARCHAR) AS REMARKS, " +
		"COLUMN_DEFAULT AS COLUMN_DEF, -1 AS SQL_DATA_TYPE, -1 AS SQL_DATETIME_SUB, -1 AS CHAR_OCTET_LENGTH, " +
		"CAST(ORDINAL_POSITION AS INTEGER) AS ORDINAL_POSITION, IS_NULLABLE AS IS_NULLABLE, CAST(NULL AS VARCHAR) AS SCOPE_CATALOG, " +
		"CAST(NULL AS VARCHAR) AS SCOPE_SCHEMA, CAST(NULL AS VARCHAR) AS SCOPE_TABLE, -1 AS SOURCE_DATA_TYPE, 'NO' AS IS_AUTOINCREMENT, " +
		"'NO' AS IS_GENERATEDCOLUMN FROM INFORMATION_SCHEMA.COLUMNS"

	// typeInfo has the types that columns have.
	typeInfo = "SELECT TYPE_NAME, DATA_TYPE, \"PRECISION\", LITERAL_PREFIX, LITERAL_SUFFIX, CAST(NULL AS VARCHAR) AS CREATE_PARAMS, " +
		"1 AS NULLABLE, CASE_SENSITIVE, 3 AS SEARCHABLE, FALSE AS UNSIGNED_ATTRIBUTE, FALSE AS FIXED_PREC_SCALE, FALSE AS AUTO_INCREMENT, " +
		"TYPE_NAME AS LOCAL_TYPE_NAME, 0 AS MINIMUM_SCALE, 0 AS MAXIMUM_SCALE, -1 AS SQL_DATA_TYPE, -1 AS SQL_DATETIME_SUB, " +
		"10 AS NUM_PREC_RADIX FROM (VALUES ('BIGINT', -5, 19, '', '', FALSE), ('DECIMAL', 3, 19, '', '', FALSE), " +
		"('FLOAT', 6, 15, '', '', FALSE), " +
		"('DOUBLE', 8, 15, '', '', FALSE), ('VARCHAR', 12, -1, '''', '''', TRUE), ('BOOLEAN', 16, 1, '', '', FALSE), " +
		"('DATE', 91, 0, 'DATE ''', '''', FALSE), " +
		"('TIMESTAMP', 93, 3, 'TIMESTAMP ''', '''', FALSE), ('OTHER', 1111, -1, '', '', FALSE), ('ARRAY', 2003, -1, 'ARRAY[', ']', FALSE)) " +
		"AS t (TYPE_NAME, DATA_TYPE, \"PRECISION\", LITERAL_PREFIX, LITERAL_SUFFIX, CASE_SENSITIVE) ORDER BY DATA_TYPE"
)

// catalogBuilder gathers conditions with their values.
type catalogBuilder struct {
	conditions []string
	values     []value
}

// equal wants a column to be a text.
func (q *catalogBuilder) equal(column string, text *string) {
	if text != nil {
		q.add(column+" = ?", *text)
	}
}

// like wants a column to match a pattern of JDBC, whose escape is the backslash.
func (q *catalogBuilder) like(column string, pattern *string) {
	if pattern != nil && *pattern != "%" {
		q.add(column+` LIKE ? ESCAPE '\'`, *pattern)
	}
}

func (q *catalogBuilder) in(column string, list []string) {
	if len(list) == 0 {
		return
	}
	q.add(column+" IN (?"+strings.Repeat(", ?", len(list)-1)+")", list...)
}

func (q *catalogBuilder) add(condition string, texts ...string) {
	q.conditions = append(q.conditions, condition)
	for _, text := range texts {
		q.values = append(q.values, textValue(text))
	}
}

func (q *catalogBuilder) where() string {
	if len(q.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(q.conditions, " AND ")
}
