// Writes joda.tsv: what Joda-Time 2.12.5, whose semantics package chrono follows, answers. To write it anew:
//   javac -cp joda-time-2.12.5.jar JodaVectors.java && java -Duser.timezone=UTC -cp joda-time-2.12.5.jar:. JodaVectors > joda.tsv
import java.util.*;
import org.joda.time.*;
import org.joda.time.chrono.ISOChronology;
import org.joda.time.format.*;

public class JodaVectors {
  static final Random random = new Random(42);
  static final String[] ZONES = {"UTC", "America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe",
      "America/Sao_Paulo", "America/Havana", "Pacific/Apia", "America/St_Johns", "+05:30", "-08:00"};
  static final String[] PERIODS = {"PT1S", "PT1M", "PT7M", "PT15M", "PT1H", "PT6H", "PT1H30M", "P1D", "P2D", "P1W", "P2W", "P1M", "P2M",
      "P3M", "P1Y", "P2Y", "P10Y", "P100Y", "P1DT12H", "P1M2D", "P1Y6M", "P1M15DT6H", "PT0.5S"};

  static void row(Object... cells) {
    StringBuilder b = new StringBuilder();
    for (Object c : cells) b.append(b.length() == 0 ? "" : "\t").append(c);
    System.out.println(b);
  }
  static <T> T pick(T[] a) { return a[random.nextInt(a.length)]; }
  static long instant() { // 1970 to 2022, of which half within hours of a change of offset in some zone
    long ms = (long) (random.nextDouble() * 1640995200000L);
    if (random.nextBoolean()) ms = DateTimeZone.forID(pick(ZONES)).nextTransition(ms) + (random.nextInt(25 * 60) - 12 * 60) * 60000L + random.nextInt(3) * 499;
    return Math.floorMod(ms, 1640995200000L);
  }

  static DateTimeFormatter sql() {
    DateTimeFormatter offset = new DateTimeFormatterBuilder().appendTimeZoneOffset("Z", true, 2, 4).toFormatter();
    DateTimeParser rest = new DateTimeFormatterBuilder()
        .append(null, new DateTimeParser[] {new DateTimeFormatterBuilder().appendLiteral('T').toParser(), new DateTimeFormatterBuilder().appendLiteral(' ').toParser()})
        .appendOptional(ISODateTimeFormat.timeElementParser().getParser()).appendOptional(offset.getParser()).toParser();
    return new DateTimeFormatterBuilder().append(ISODateTimeFormat.dateElementParser()).appendOptional(rest).toFormatter();
  }
  static Object millis(DateTimeFormatter f, String text) {
    try { return f.parseDateTime(text).getMillis(); } catch (IllegalArgumentException e) { return "null"; }
  }
  static String mutate(String s) {
    StringBuilder b = new StringBuilder(s);
    for (int k = random.nextInt(3); k > 0 && b.length() > 0; k--) {
      int i = random.nextInt(b.length());
      switch (random.nextInt(3)) {
        case 0: b.deleteCharAt(i); break;
        case 1: b.insert(i, "0123456789-:.,+TZW ".charAt(random.nextInt(19))); break;
        default: b.setCharAt(i, "0123456789-:.,+TZW ".charAt(random.nextInt(19)));
      }
    }
    return b.toString();
  }

  public static void main(String[] args) {
    String[] texts = {"2000-01-02T03:04:05.678Z", "2000-01-02 03:04:05", "2000-W05-3T10:11", "2000-W05", "2000-366T1:2:3", "2000-1-2", "+12345-01-02T00:00:00.000Z",
        "-0044-03-15", "2000-01-02T03.5", "2000-01-02T03:04.25", "2000-01-02T03:04:05,123456789+05:30", "2000-01-02T03:04:05+0530", "2000-01-02T03+05",
        "2000-01-02TZ", "2000-01-02T-08:00:15.250", "2000-02-30", "2000", "2020-03-08T02:30:00", "2020-11-01T01:30:00", "2000-01-02T24:00:00"};
    for (int i = 0; i < 700; i++) {
      String text = i < texts.length ? texts[i] : mutate(pick(texts)), zone = i % 3 == 0 ? "America/Los_Angeles" : "UTC";
      row("timestamp", zone, text, millis(sql().withZone(DateTimeZone.forID(zone)), text));
      if (!text.startsWith("T")) row("iso", text, millis(ISODateTimeFormat.dateTimeParser().withZone(DateTimeZone.UTC), text));
    }
    String[] periods = {"P1Y2M3W4DT5H6M7.089S", "P1D", "PT1H", "P-1M", "PT-1.5S", "PT1.5S", "P1DT0S", "pt1h", "PT0.0001S", "P", "PT", "P1DT", "PT1,25S", "P1W1D"};
    for (int i = 0; i < 300; i++) {
      String text = i < periods.length ? periods[i] : mutate(pick(periods));
      Object canonical;
      try { canonical = new Period(text).toString(); } catch (IllegalArgumentException e) { canonical = "null"; }
      row("period", text, canonical);
    }
    for (int i = 0; i < 600; i++) {
      DateTimeZone zone = DateTimeZone.forID(pick(ZONES));
      String period = pick(PERIODS);
      long ms = instant();
      int n = random.nextInt(21) - 10;
      row("add", zone, period, n, ms, ISOChronology.getInstance(zone).add(new Period(period), ms, n));
    }
    for (int i = 0; i < 600; i++) {
      DateTimeZone zone = DateTimeZone.forID(pick(ZONES));
      long ms = instant();
      row("offset", zone, ms, zone.getOffset(ms));
      long local = ms + zone.getOffset(ms) + (random.nextInt(240) - 120) * 60000L;
      int offset = zone.getOffsetFromLocal(local);
      row("local", zone, local, local - offset, zone.getOffset(local - offset) == offset);
      row("format", zone, ms, ISODateTimeFormat.dateTime().withZone(zone).print(ms));
    }
    for (long ms : new long[] {Long.MIN_VALUE / 2, Long.MAX_VALUE / 2, -62167219200001L, -62167219200000L, 253402300799999L, 253402300800000L, -1})
      for (String zone : ZONES) row("format", zone, ms, ISODateTimeFormat.dateTime().withZone(DateTimeZone.forID(zone)).print(ms));
    String[] patterns = {"yyyy-MM-dd HH:mm:ss.SSS", "yyyy-MM-dd'T'HH:mm:ssZ", "xxxx-'W'ww-e", "yyyy DDD", "EEE, d MMM yyyy h:m a", "EEEE dd MMMM YYYY", "kk:mm K a", "yyyyMMddHHmmss",
        "yy-M-d ZZ", "G CC YYYY", "MM/dd", "hh 'o''clock' a", "dd.MM.yyyy HH:mm ZZZ", "S SS SSSS", "E w x", "HH", "e", "yyyyy-D-H", "a h"};
    for (int i = 0; i < 500; i++) {
      String pattern = pick(patterns);
      DateTimeZone zone = DateTimeZone.forID(pick(ZONES));
      DateTimeFormatter f = DateTimeFormat.forPattern(pattern).withZone(zone).withLocale(Locale.ENGLISH).withPivotYear(1996);
      long ms = i % 10 == 0 ? instant() * 100 - 100000000000000L : instant();
      if (i % 10 == 0) f = f.withZone(zone = DateTimeZone.UTC);
      String text = f.print(ms);
      row("print", pattern, zone, ms, text);
      row("parse", pattern, zone, text, millis(f, text));
      text = mutate(text);
      row("parse", pattern, zone, text, millis(f, text));
    }
    for (int i = 0; i < 400; i++) {
      DateTimeZone zone = DateTimeZone.forID(pick(ZONES));
      long a = instant(), b = i % 2 == 0 ? instant() : ISOChronology.getInstance(zone).months().add(a, random.nextInt(100) - 50) + random.nextInt(3) - 1;
      row("months", zone, a, b, Months.monthsBetween(new DateTime(a, zone), new DateTime(b, zone)).getMonths());
    }
    for (int i = 0; i < 400; i++) {
      DateTimeZone zone = DateTimeZone.forID(pick(ZONES));
      DateTime t = new DateTime(instant(), zone);
      row("fields", zone, t.getMillis(), t.getSecondOfMinute(), t.getHourOfDay(), t.getDayOfMonth(), t.getDayOfWeek(), t.getDayOfYear(), t.getWeekOfWeekyear(), t.getMonthOfYear(), t.getYear());
    }
  }
}
