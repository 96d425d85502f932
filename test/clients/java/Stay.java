import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Scanner;
import org.apache.calcite.avatica.AvaticaConnection;

/** Keeps one connection of the driver of Avatica, and runs a statement on it for each line it reads. The argument is the URL. */
public class Stay {
  public static void main(String[] args) throws Exception {
    try (Connection connection = DriverManager.getConnection(args[0]); Scanner in = new Scanner(System.in)) {
      System.out.println("connection " + ((AvaticaConnection) connection).id);
      while (in.hasNextLine()) {
        String sql = in.nextLine();
        try (Statement plain = connection.createStatement(); ResultSet rows = plain.executeQuery(sql);
            PreparedStatement prepared = connection.prepareStatement("SELECT CAST(? AS BIGINT) + 1")) {
          StringBuilder line = new StringBuilder("rows");
          while (rows.next()) {
            line.append(' ').append(rows.getLong(1));
          }
          prepared.setLong(1, 41);
          try (ResultSet more = prepared.executeQuery()) {
            more.next();
            System.out.println(line.append(" and ").append(more.getLong(1)));
          }
        } catch (SQLException e) {
          System.out.println("failed " + e.getMessage().replace('\n', ' '));
        }
      }
    }
  }
}
