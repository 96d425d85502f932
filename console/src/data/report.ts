// The stages of a task with its counters, as its report tells them while it runs and afterwards.

export interface Report {
  multiStageQuery?: { payload?: { status?: ReportStatus; stages?: StageReport[]; counters?: Record<string, Record<string, Record<string, Counter>>> } };
  [name: string]: unknown;
}

export interface ReportStatus {
  status?: string;
  durationMs?: number;
  pendingTasks?: number;
  runningTasks?: number;
  errorReport?: { error?: { errorMessage?: string; errorCode?: string }; exceptionStackTrace?: string } | null;
  warnings?: unknown[];
  segmentLoadStatus?: { state?: string; totalSegments?: number; pendingSegments?: number };
  segmentReport?: { shardSpec?: string; details?: string };
}

interface StageReport {
  stageNumber: number;
  phase?: string;
  workerCount?: number;
  partitionCount?: number;
  duration?: number;
  definition?: { processor?: { type?: string }; input?: { type?: string; dataSource?: string; stage?: number }[] };
}

interface Counter {
  type: string;
  rows?: number[];
  bytes?: number[];
  files?: number[];
  totalFiles?: number[];
  progressDigest?: number;
  main?: { cpu?: number };
  rowsMerged?: number;
  rowsPushed?: number;
  [name: string]: unknown;
}

/** One stage in the words of the table. */
export interface Stage {
  number: number;
  phase: string;
  processor: string;
  reads: string;
  workers: number;
  partitions: number | undefined;
  duration: number | undefined;
  rowsIn: number;
  bytesIn: number;
  rowsOut: number;
  bytesOut: number;
  cpuMillis: number;
  /** From 0 to 1; undefined: not known. */
  done: number | undefined;
}

const total = (list: number[] | undefined) => (list ?? []).reduce((a, b) => a + Number(b), 0);

/** Reads the stages of a report. */
export function stagesOf(report: Report): Stage[] {
  const payload = report.multiStageQuery?.payload;
  return (payload?.stages ?? []).map((s) => {
    const out: Stage = {
      number: s.stageNumber,
      phase: s.phase ?? "NEW",
      processor: s.definition?.processor?.type ?? "",
      reads: (s.definition?.input ?? []).map((i) => (i.type === "stage" ? `stage ${i.stage}` : i.dataSource ?? i.type ?? "")).join(", "),
      workers: s.workerCount ?? 0,
      partitions: s.partitionCount,
      duration: s.duration,
      rowsIn: 0, bytesIn: 0, rowsOut: 0, bytesOut: 0, cpuMillis: 0,
      done: s.phase === "FINISHED" ? 1 : undefined,
    };
    let files = 0, allFiles = 0, sorted = 0, sorts = 0, pushed = 0;
    for (const worker of Object.values(payload?.counters?.[String(s.stageNumber)] ?? {})) {
      for (const [name, c] of Object.entries(worker)) {
        if (name.startsWith("input")) {
          out.rowsIn += total(c.rows);
          out.bytesIn += total(c.bytes);
          files += total(c.files);
          allFiles += total(c.totalFiles);
        } else if (name === "output") {
          out.rowsOut += total(c.rows);
          out.bytesOut += total(c.bytes);
        } else if (name === "sortProgress" && typeof c.progressDigest === "number") {
          sorted += c.progressDigest;
          sorts++;
        } else if (c.type === "cpus") {
          for (const part of Object.values(c)) if (part && typeof part === "object") out.cpuMillis += Number((part as { cpu?: number }).cpu ?? 0) / 1e6;
        } else if (c.type === "segmentGenerationProgress") {
          pushed += Number(c.rowsPushed ?? 0);
        }
      }
    }
    if (out.rowsOut === 0 && pushed > 0) out.rowsOut = pushed;
    if (out.done === undefined) {
      // Reading is the first half where the rows are sorted afterwards.
      const read = allFiles > 0 ? files / allFiles : undefined;
      if (sorts > 0) out.done = ((read ?? 1) + sorted / sorts) / 2;
      else out.done = read;
    }
    return out;
  });
}
