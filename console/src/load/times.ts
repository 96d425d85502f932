// How texts are times.

const isoTime = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** Sees whether all values of a column are times, and how they are written: "": they are not. */
export class TimeWatch {
  private iso = true;
  private millis = true;
  private seconds = true;
  private seen = false;

  add(text: string): void {
    if (text === "") {
      this.iso = this.millis = this.seconds = false; // a row without a time is no row
      return;
    }
    this.seen = true;
    if (!isoTime.test(text) || Number.isNaN(Date.parse(text.replace(" ", "T").replace(",", ".")))) this.iso = false;
    if (!/^\d{12,13}$/.test(text)) this.millis = false;
    if (!/^\d{9,10}$/.test(text)) this.seconds = false;
  }

  format(): "" | "auto" | "millis" | "posix" {
    if (!this.seen) return "";
    return this.iso ? "auto" : this.millis ? "millis" : this.seconds ? "posix" : "";
  }
}
