package avatica

import "encoding/json"

// request has the members of all requests.
type request struct {
	Kind         string `json:"request"`
	ConnectionID string `json:"connectionId"`
	StatementID  int32  `json:"statementId"`

	// openConnection
	Info map[string]string `json:"info"`
	// connectionSync
	Props *connectionProps `json:"connProps"`
	// prepare, prepareAndExecute, execute
	SQL              string  `json:"sql"`
	MaxRowCount      *int64  `json:"maxRowCount"`
	MaxRowsTotal     *int64  `json:"maxRowsTotal"`
	RowsInFirstFrame *int64  `json:"maxRowsInFirstFrame"`
	FirstFrameSize   *int64  `json:"firstFrameMaxSize"`
	Handle           *handle `json:"statementHandle"`
	Values           []value `json:"parameterValues"`
	// fetch, syncResults
	Offset     int64             `json:"offset"`
	FetchRows  *int64            `json:"fetchMaxRowCount"`
	FrameSize  *int64            `json:"frameMaxSize"`
	State      *state            `json:"state"`
	Connection *connectionHandle `json:"connectionHandle"`
	// metadata
	Catalog       *string  `json:"catalog"`
	SchemaPattern *string  `json:"schemaPattern"`
	TablePattern  *string  `json:"tableNamePattern"`
	ColumnPattern *string  `json:"columnNamePattern"`
	Types         []string `json:"typeList"`
}

// connection returns the id of the connection, which stands at one of three places.
func (r *request) connection() string {
	switch {
	case r.ConnectionID != "":
		return r.ConnectionID
	case r.Handle != nil:
		return r.Handle.ConnectionID
	case r.Connection != nil:
		return r.Connection.ID
	}
	return ""
}

// statement returns the number of the statement.
func (r *request) statement() int32 {
	if r.Handle != nil {
		return r.Handle.ID
	}
	return r.StatementID
}

// handle names a statement.
type handle struct {
	ConnectionID string     `json:"connectionId"`
	ID           int32      `json:"id"`
	Signature    *signature `json:"signature"`
}

type connectionHandle struct {
	ID string `json:"id"`
}

// state is the statement that a driver wants to go on with after it lost a connection.
type state struct {
	SQL string `json:"sql"`
}

// value is that of a parameter: the name of its type, and its value as the type has it in JSON.
type value struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// connectionProps are what JDBC knows of a connection. They are echoed.
type connectionProps struct {
	Kind       string  `json:"connProps"`
	AutoCommit *bool   `json:"autoCommit"`
	ReadOnly   *bool   `json:"readOnly"`
	Isolation  *int32  `json:"transactionIsolation"`
	Catalog    *string `json:"catalog"`
	Schema     *string `json:"schema"`
	Dirty      bool    `json:"dirty"`
}

// metadata goes with every answer.
type metadata struct {
	Kind    string `json:"response"`
	Address string `json:"serverAddress"`
}

// response is an answer. Its members are those of the protocol; which ones a kind has is said by
// the function that makes it.
type response interface{ kind() string }

type (
	plain struct {
		Kind     string    `json:"response"`
		Metadata *metadata `json:"rpcMetadata,omitempty"`
	}
	synced struct {
		Kind     string           `json:"response"`
		Props    *connectionProps `json:"connProps"`
		Metadata *metadata        `json:"rpcMetadata"`
	}
	properties struct {
		Kind     string         `json:"response"`
		Map      map[string]any `json:"map"`
		Metadata *metadata      `json:"rpcMetadata"`
	}
	created struct {
		Kind         string    `json:"response"`
		ConnectionID string    `json:"connectionId"`
		StatementID  int32     `json:"statementId"`
		Metadata     *metadata `json:"rpcMetadata"`
	}
	prepared struct {
		Kind      string    `json:"response"`
		Statement *handle   `json:"statement"`
		Metadata  *metadata `json:"rpcMetadata"`
	}
	executed struct {
		Kind     string       `json:"response"`
		Missing  bool         `json:"missingStatement"`
		Metadata *metadata    `json:"rpcMetadata"`
		Results  []*resultSet `json:"results"`
	}
	resultSet struct {
		Kind         string     `json:"response"`
		ConnectionID string     `json:"connectionId"`
		StatementID  int32      `json:"statementId"`
		Own          bool       `json:"ownStatement"`
		Signature    *signature `json:"signature"`
		First        *frame     `json:"firstFrame"`
		Updates      int64      `json:"updateCount"`
		Metadata     *metadata  `json:"rpcMetadata"`
	}
	fetched struct {
		Kind             string    `json:"response"`
		Frame            *frame    `json:"frame"`
		MissingStatement bool      `json:"missingStatement"`
		MissingResults   bool      `json:"missingResults"`
		Metadata         *metadata `json:"rpcMetadata"`
	}
	resumed struct {
		Kind             string    `json:"response"`
		More             bool      `json:"moreResults"`
		MissingStatement bool      `json:"missingStatement"`
		Metadata         *metadata `json:"rpcMetadata"`
	}
	failure struct {
		Kind       string    `json:"response"`
		Exceptions []string  `json:"exceptions"`
		Message    *string   `json:"errorMessage"`
		Code       int32     `json:"errorCode"`
		State      string    `json:"sqlState"`
		Severity   string    `json:"severity"`
		Metadata   *metadata `json:"rpcMetadata"`
	}
)

func (r *plain) kind() string      { return r.Kind }
func (r *synced) kind() string     { return r.Kind }
func (r *properties) kind() string { return r.Kind }
func (r *created) kind() string    { return r.Kind }
func (r *prepared) kind() string   { return r.Kind }
func (r *executed) kind() string   { return r.Kind }
func (r *resultSet) kind() string  { return r.Kind }
func (r *fetched) kind() string    { return r.Kind }
func (r *resumed) kind() string    { return r.Kind }
func (r *failure) kind() string    { return r.Kind }

// frame is some rows of a result. Rows are a JSON list of lists.
type frame struct {
	Offset int64           `json:"offset"`
	Done   bool            `json:"done"`
	Rows   json.RawMessage `json:"rows"`
	// columns are those of the result; messages need their types.
	columns []column
}

// signature describes a result and the parameters of its statement.
type signature struct {
	Columns       []column    `json:"columns"`
	SQL           *string     `json:"sql"`
	Parameters    []parameter `json:"parameters"`
	CursorFactory cursorStyle `json:"cursorFactory"`
	StatementType *string     `json:"statementType"`
}

type cursorStyle struct {
	Style  string    `json:"style"`
	Class  *string   `json:"clazz"`
	Fields []*string `json:"fieldNames"`
}

type column struct {
	Ordinal            int32   `json:"ordinal"`
	AutoIncrement      bool    `json:"autoIncrement"`
	CaseSensitive      bool    `json:"caseSensitive"`
	Searchable         bool    `json:"searchable"`
	Currency           bool    `json:"currency"`
	Nullable           int32   `json:"nullable"`
	Signed             bool    `json:"signed"`
	DisplaySize        int32   `json:"displaySize"`
	Label              string  `json:"label"`
	ColumnName         string  `json:"columnName"`
	SchemaName         *string `json:"schemaName"`
	Precision          int32   `json:"precision"`
	Scale              int32   `json:"scale"`
	TableName          *string `json:"tableName"`
	CatalogName        *string `json:"catalogName"`
	Type               typeOf  `json:"type"`
	ReadOnly           bool    `json:"readOnly"`
	Writable           bool    `json:"writable"`
	DefinitelyWritable bool    `json:"definitelyWritable"`
	ClassName          string  `json:"columnClassName"`
}

// typeOf is a type of JDBC: its number and name, and the Java representation of values.
type typeOf struct {
	Kind      string  `json:"type"` // scalar or array
	ID        int32   `json:"id"`
	Name      string  `json:"name"`
	Rep       string  `json:"rep"`
	Component *typeOf `json:"component,omitempty"`
}

type parameter struct {
	Signed    bool   `json:"signed"`
	Precision int32  `json:"precision"`
	Scale     int32  `json:"scale"`
	Type      int32  `json:"parameterType"`
	TypeName  string `json:"typeName"`
	ClassName string `json:"className"`
	Name      string `json:"name"`
}
