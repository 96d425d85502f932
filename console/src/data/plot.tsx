// A plot of a few numbers over the time, which grows while it is looked at.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { instant } from "../api/format";

export interface Series {
  name: string;
  values: (number | null)[];
}

const variables = ["--accent", "--warn", "--good", "--number", "--bad"];

/** Times are in seconds, as uPlot has them. */
export function Plot({ label, times, series, format, zone, dark }: { label: string; times: number[]; series: Series[]; format: (n: number) => string; zone: string; dark: string }) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const names = series.map((s) => s.name).join("\n");
  const data: uPlot.AlignedData = [times, ...series.map((s) => s.values)];
  const now = useRef(data);
  now.current = data;
  useEffect(() => {
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--text-2"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
    const made = new uPlot(
      {
        width: Math.max(100, host.current!.clientWidth),
        height: 150,
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), zone === "UTC" ? "Etc/UTC" : zone), // the library takes UTC for the zone of the browser
        scales: { x: { range: (_, low, high) => [Math.min(low, high - 60), high] }, y: { range: (_, low, high) => [Math.min(0, low), Math.max(4, high * 1.1)] } },
        axes: [{ ...axis, values: (_, ticks) => ticks.map((t) => instant(new Date(t * 1000).toISOString(), zone).slice(11, 19)) }, { ...axis, size: 64, values: (_, ticks) => ticks.map((t) => format(t)) }],
        series: [{}, ...names.split("\n").map((name, i) => ({ label: name, stroke: colour(variables[i % variables.length]!), width: 1.5, spanGaps: false, points: { show: false } }))],
      },
      now.current,
      host.current!,
    );
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: Math.max(100, host.current?.clientWidth ?? 100), height: 150 }));
    watch.observe(host.current!);
    return () => (watch.disconnect(), made.destroy());
    // The data is followed below.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [names, zone, dark]);
  useEffect(() => plot.current?.setData(data));
  return <div className="canvas" ref={host} role="img" aria-label={label} />;
}
