import java.sql.*;
import java.util.Properties;

/** Runs what applications do with the driver of Arrow Flight SQL and prints what it answers. */
public class Flight {
    static void show(String title, ResultSet r, String... columns) throws SQLException {
        System.out.println(title);
        int n = 0;
        try (r) { // the driver counts what is left open as a leak
            while (r.next()) {
                StringBuilder b = new StringBuilder(" ");
                if (columns.length == 0) {
                    for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) b.append(' ').append(r.getString(i));
                }
                for (String c : columns) b.append(' ').append(r.getString(c));
                System.out.println(b);
                n++;
            }
        }
        System.out.println("  rows: " + n);
    }

    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.setProperty("user", args[1]);
        p.setProperty("password", args[2]);
        p.setProperty("useEncryption", "false");
        try (Connection c = DriverManager.getConnection(args[0], p)) {
            DatabaseMetaData m = c.getMetaData();
            System.out.println(m.getDatabaseProductName() + " " + m.getIdentifierQuoteString() + " " + m.isReadOnly()
                + " " + m.supportsUnion() + " " + m.supportsTransactions());
            show("tables", m.getTables(null, null, "wiki", null), "TABLE_NAME", "TABLE_TYPE");
            show("columns", m.getColumns(null, null, "wiki", "%"), "COLUMN_NAME", "DATA_TYPE", "ORDINAL_POSITION");
            show("keys", m.getPrimaryKeys(null, null, "wiki"));
            show("imported", m.getImportedKeys(null, null, "wiki"));
            show("exported", m.getExportedKeys(null, null, "wiki"));
            show("types", m.getTableTypes(), "TABLE_TYPE");
            try (Statement s = c.createStatement();
                ResultSet r = s.executeQuery("SELECT page, added, delta, __time, tags, CAST(__time AS DATE) AS d, added > 15 AS b, "
                    + "NULLIF(added, 20) AS n FROM wiki ORDER BY added")) {
                ResultSetMetaData k = r.getMetaData();
                for (int i = 1; i <= k.getColumnCount(); i++) System.out.print(k.getColumnName(i) + ":" + k.getColumnTypeName(i) + " ");
                System.out.println();
                while (r.next()) {
                    System.out.println(r.getString(1) + " " + r.getLong(2) + " " + r.getDouble(3) + " " + r.getTimestamp(4).toInstant() + " "
                        + r.getObject(5) + " " + r.getDate(6) + " " + r.getBoolean(7) + " " + r.getObject(8));
                }
            }
            try (PreparedStatement s = c.prepareStatement("SELECT page, added FROM wiki WHERE added > ? AND page LIKE ? ORDER BY added")) {
                for (int round = 0; round < 2; round++) {
                    s.setLong(1, 5 + 10 * round);
                    s.setString(2, "M%");
                    show("prepared", s.executeQuery());
                }
            }
            try (Statement s = c.createStatement();
                ResultSet r = s.executeQuery("SELECT a.n * 1000 + b.n AS n FROM numbers a CROSS JOIN numbers b")) {
                long rows = 0, sum = 0;
                while (r.next()) {
                    rows++;
                    sum += r.getLong(1);
                }
                System.out.println(rows + " rows, sum " + sum);
            }
            try (Statement s = c.createStatement()) {
                s.executeQuery("SELECT nothing FROM wiki");
                System.out.println("no failure");
            } catch (SQLException e) {
                System.out.println("failure: " + e.getMessage().contains("nothing"));
            }
        }
        p.setProperty("password", "wrong");
        try (Connection c = DriverManager.getConnection(args[0], p)) {
            System.out.println("no failure");
        } catch (SQLException e) {
            System.out.println("refused");
        }
    }
}
