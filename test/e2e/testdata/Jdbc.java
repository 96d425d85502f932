import java.sql.Array;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.Arrays;
import java.util.Properties;

/** Does what JDBC clients do over the driver of Avatica, and prints what comes. The argument is the URL. */
public class Jdbc {
  static void show(String what, ResultSet r, int max) throws Exception {
    ResultSetMetaData m = r.getMetaData();
    StringBuilder b = new StringBuilder(what).append(':');
    for (int i = 1; i <= m.getColumnCount(); i++) {
      b.append(' ').append(m.getColumnLabel(i)).append(' ').append(m.getColumnTypeName(i));
    }
    System.out.println(b);
    int n = 0;
    while (r.next()) {
      if (++n > max) {
        continue;
      }
      b = new StringBuilder(" ");
      for (int i = 1; i <= m.getColumnCount(); i++) {
        Object o = r.getObject(i);
        if (o instanceof Array) {
          o = Arrays.toString((Object[]) ((Array) o).getArray());
        }
        b.append(' ').append(o);
      }
      System.out.println(b);
    }
    System.out.println("  rows: " + n);
    r.close();
  }

  public static void main(String[] args) throws Exception {
    Properties p = new Properties();
    p.put("user", "u");
    p.put("password", "s");
    p.put("sqlTimeZone", "Etc/UTC");
    Connection c = DriverManager.getConnection(args[0], p);
    DatabaseMetaData md = c.getMetaData();
    show("catalogs", md.getCatalogs(), 9);
    show("schemas", md.getSchemas(null, "INFO%"), 9);
    show("tables", md.getTables(null, "service", "jdbc%", new String[] {"TABLE"}), 9);
    ResultSet columns = md.getColumns(null, "service", "jdbc\\_t", "%");
    while (columns.next()) {
      System.out.println("  column " + columns.getString("COLUMN_NAME") + " " + columns.getInt("DATA_TYPE") + " " + columns.getString("TYPE_NAME"));
    }
    columns.close();

    Statement s = c.createStatement();
    show("types", s.executeQuery("SELECT 1 AS i, 'x' AS s, TRUE AS b, DATE '2020-01-02' AS dt, TIMESTAMP '2020-01-02 03:04:05' AS t, "
        + "ARRAY[1,2] AS arr, CAST(1.5 AS DOUBLE) AS d, CAST(9007199254740993 AS BIGINT) AS l, CAST(NULL AS VARCHAR) AS n, CAST(3 AS FLOAT) AS f"), 9);
    ResultSet r = s.executeQuery("SELECT 1 AS i, DATE '2020-01-02' AS dt, TIMESTAMP '2020-01-02 03:04:05' AS t, CAST(3 AS FLOAT) AS f, 1.5 AS d");
    r.next();
    System.out.println("got: " + r.getInt(1) + " " + r.getDate(2) + " " + r.getTimestamp(3) + " " + r.getFloat(4) + " " + r.getBigDecimal(5).doubleValue());
    r.close();

    PreparedStatement q = c.prepareStatement("SELECT v, v * ? AS y FROM jdbc_t WHERE v >= ? AND __time < ? ORDER BY v LIMIT 2");
    System.out.println("parameters: " + q.getParameterMetaData().getParameterTypeName(2) + " " + q.getParameterMetaData().getParameterTypeName(3));
    for (int from : new int[] {2, 5}) {
      q.setInt(1, 10);
      q.setLong(2, from);
      q.setTimestamp(3, Timestamp.valueOf("2030-01-01 00:00:00"));
      show("from " + from, q.executeQuery(), 9);
    }
    PreparedStatement text = c.prepareStatement("SELECT ? || 'b' AS s");
    text.setString(1, "ä'");
    show("text", text.executeQuery(), 9);
    text.close();

    s.setFetchSize(100);
    show("frames", s.executeQuery("SELECT a.v * 10000 + b.v * 100 + c.v AS n FROM jdbc_t a, jdbc_t b, jdbc_t c ORDER BY 1"), 1);
    s.setMaxRows(7);
    show("most", s.executeQuery("SELECT v FROM jdbc_t ORDER BY v"), 1);
    try {
      s.executeQuery("SELECT nope FROM jdbc_t");
    } catch (SQLException e) {
      System.out.println("error: " + e.getMessage().replaceAll("(?s).*driver error: ", ""));
    }
    c.close();
    try {
      c.createStatement().executeQuery("SELECT 1");
      System.out.println("a closed connection answers");
    } catch (Exception e) {
      System.out.println("closed");
    }
  }
}
