import java.sql.*;
import java.util.Properties;

/** Runs what applications do with the driver of PostgreSQL and prints what it answers. */
public class Pg {
    static void show(String title, ResultSet r, String... columns) throws SQLException {
        System.out.println(title);
        int n = 0;
        while (r.next()) {
            StringBuilder b = new StringBuilder(" ");
            if (columns.length == 0) {
                for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) b.append(' ').append(r.getString(i));
            }
            for (String c : columns) b.append(' ').append(r.getString(c));
            System.out.println(b);
            n++;
        }
        System.out.println("  rows: " + n);
    }

    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.setProperty("user", "ann");
        p.setProperty("prepareThreshold", "1");
        try (Connection c = DriverManager.getConnection(args[0], p)) {
            DatabaseMetaData m = c.getMetaData();
            System.out.println(m.getDatabaseProductName() + " " + m.getDatabaseMajorVersion());
            show("schemas", m.getSchemas(), "TABLE_SCHEM");
            show("tables", m.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE");
            show("columns", m.getColumns(null, "public", "wiki", "%"), "COLUMN_NAME", "TYPE_NAME", "DATA_TYPE", "NULLABLE", "ORDINAL_POSITION");
            show("keys", m.getPrimaryKeys(null, "public", "wiki"));
            show("imported", m.getImportedKeys(null, "public", "wiki"));
            show("exported", m.getExportedKeys(null, "public", "wiki"));
            show("indexes", m.getIndexInfo(null, "public", "wiki", false, false));
            show("row identifiers", m.getBestRowIdentifier(null, "public", "wiki", 0, true));
            try (ResultSet r = m.getTypeInfo()) {
                int n = 0;
                while (r.next()) n++;
                System.out.println("types: " + (n > 50));
            }
            try (ResultSet r = m.getFunctions(null, "public", "%")) {
                System.out.println("functions: " + r.next());
            }
            try (PreparedStatement s = c.prepareStatement("SELECT page, added, delta, __time, tags, flag, CAST(__time AS DATE) AS d FROM wiki WHERE added > ? AND page LIKE ? ORDER BY added LIMIT ?")) {
                for (int round = 0; round < 3; round++) { // binary from the second on
                    s.setLong(1, 5);
                    s.setString(2, "M%");
                    s.setInt(3, 10);
                    try (ResultSet r = s.executeQuery()) {
                        while (r.next()) {
                            System.out.println("  " + r.getString(1) + " " + r.getLong(2) + " " + r.getDouble(3) + " " + r.getTimestamp(4).getTime() + " "
                                + r.getArray(5) + " " + r.getBoolean(6) + " " + r.getDate(7));
                        }
                    }
                }
                ParameterMetaData pm = s.getParameterMetaData();
                System.out.println("parameters: " + pm.getParameterTypeName(1) + " " + pm.getParameterTypeName(2) + " " + pm.getParameterTypeName(3));
            }
            try (PreparedStatement s = c.prepareStatement("SELECT count(*) FROM wiki WHERE __time >= ? AND page = ANY (?)")) {
                s.setTimestamp(1, new Timestamp(1704067200000L));
                s.setArray(2, c.createArrayOf("text", new String[] {"Main", "Help"}));
                show("between", s.executeQuery());
            }
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                s.setFetchSize(2);
                show("fetched", s.executeQuery("SELECT page FROM wiki ORDER BY __time"));
            }
            c.commit();
            c.setAutoCommit(true);
            c.setReadOnly(true);
            try (Statement s = c.createStatement()) {
                s.executeQuery("SELECT nope FROM wiki");
            } catch (SQLException e) {
                System.out.println("error: " + e.getSQLState() + " " + e.getMessage().replace("\n", " "));
            }
            try (Statement s = c.createStatement()) {
                s.setQueryTimeout(1);
                s.executeQuery("SELECT pg_sleep(20)");
            } catch (SQLException e) {
                System.out.println("cancelled: " + e.getSQLState());
            }
            org.postgresql.copy.CopyManager copy = c.unwrap(org.postgresql.PGConnection.class).getCopyAPI();
            java.io.StringWriter w = new java.io.StringWriter();
            copy.copyOut("COPY (SELECT page, added FROM wiki ORDER BY __time) TO STDOUT (FORMAT csv)", w);
            System.out.println("copied: " + w.toString().replace("\n", ";"));
            try (Statement s = c.createStatement()) {
                System.out.println("several: " + s.execute("SELECT 1; SELECT 2") + " " + s.getMoreResults());
            }
        }
        System.out.println("closed");
    }
}
