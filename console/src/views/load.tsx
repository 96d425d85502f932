// Load: data of any source become a datasource, in steps: where they are, what they are, how they
// are kept, and the task or supervisor that loads them.
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { learn, guessFormat, sample, survey, type Said, type Survey } from "../load/ask";
import { keptOf, samplerOf, type Json, type Plan, type Source } from "../load/plan";
import { Progress, Submit, type Begun } from "../load/run";
import { saidOf, Shape, useCheck, usePreview } from "../load/shape";
import { ChooseSource } from "../load/source";
import { Store } from "../load/store";
import { Failure, Skeleton, View } from "../ui/parts";

interface Looked {
  plan: Plan;
  found?: Survey;
}

function emptyPlan(source: Source): Plan {
  return {
    source, time: { column: "", format: "iso" }, untimed: 0, keepTime: false, fields: [], edits: {}, flattened: [], filters: [], rollup: false, queryGranularity: "",
    datasource: source.name, replace: true, segmentGranularity: "DAY", rowsPerSegment: 3_000_000, cluster: [],
  };
}

/** A plan by what a survey has found. */
function planOf(source: Source, s: Survey, before?: Plan): Plan {
  const time = { column: s.time ?? "", format: s.timeFormat ?? "iso", expression: s.timeExpression ?? undefined };
  return {
    ...(before ?? emptyPlan(source)), source, format: s.inputFormat as Json, time, untimed: s.untimed ?? 0, keepTime: s.keepTime ?? false,
    fields: (s.columns ?? []).map((c) => ({ name: c.name!, type: c.type! })), edits: {}, segmentGranularity: s.time ? (before?.segmentGranularity ?? "DAY") : "ALL",
  };
}

/** Looks at rows where there are no files: at messages of a stream, or at a database. */
async function sampled(source: Source, given: Json | undefined, signal?: AbortSignal): Promise<Looked> {
  const plan = emptyPlan(source);
  plan.format = given;
  if (!given && source.stream) {
    const raw = await sample(samplerOf({ ...plan, format: { type: "regex", pattern: "([\\s\\S]*)", columns: ["raw"] } }, 20), signal);
    const texts = raw.data.flatMap((d) => (typeof d.input?.raw === "string" ? [d.input.raw] : []));
    if (texts.length === 0) throw new Error("The stream has no records yet. Send some, then look again.");
    plan.format = guessFormat(texts);
  }
  const body = samplerOf(plan, 200) as { spec: { dataSchema: { dimensionsSpec: Json } } };
  body.spec.dataSchema.dimensionsSpec = { useSchemaDiscovery: true };
  const s = await sample(body as unknown as Json, signal);
  const { fields, time } = learn(s);
  if (fields.length === 0) {
    const why = s.data.find((d) => d.error)?.error;
    throw new Error(`No record could be read as ${String(plan.format?.type ?? "rows")}${why ? `: ${why}` : "."}`);
  }
  return { plan: { ...plan, fields, time, segmentGranularity: time.column === "" ? "ALL" : "DAY" } };
}

const hasRows = (s: Source) => !!s.stream || ["sql", "druid", "service"].includes(String(s.wire.type));

const steps = ["Source", "Data", "Storage and load"] as const;

export default function Load() {
  const [step, setStep] = useState(0);
  const [source, setSource] = useState<Source>();
  const [looked, setLooked] = useState<Looked>();
  const [begun, setBegun] = useState<Begun>();
  const look = useMutation({
    mutationFn: async ({ source: s, said, format }: { source: Source; said?: Partial<Said>; format?: Json }): Promise<Looked> => {
      if (hasRows(s) || format) return await sampled(s, format);
      const found = await survey(s.wire, { types: {}, ...said });
      if ((found.columns ?? []).length === 0) throw new Error("The file has no columns.");
      if ((found.records ?? 0) === 0) throw new Error("The file has the names of columns, but no rows.");
      return { plan: planOf(s, found, said ? looked?.plan : undefined), found };
    },
    onSuccess: (l) => {
      setLooked(l);
      setStep(1);
    },
  });
  const restart = () => {
    setStep(0);
    setSource(undefined);
    setLooked(undefined);
    setBegun(undefined);
    look.reset();
  };
  const choose = (s: Source) => {
    setSource(s);
    setLooked(undefined);
    look.mutate({ source: s });
  };
  return (
    <View title="Load">
      {!begun && (
        <ol className="row" aria-label="Steps" style={{ listStyle: "none", margin: 0, padding: 0 }}>
          {steps.map((name, i) => (
            <li key={name}>
              <button className="plain" aria-current={i === step ? "step" : undefined} disabled={i > 0 && !looked} style={i === step ? { fontWeight: 600 } : undefined} onClick={() => setStep(i)}>
                {i + 1}. {name}
              </button>
            </li>
          ))}
        </ol>
      )}
      {begun ? (
        <Progress begun={begun} back={() => setBegun(undefined)} again={restart} />
      ) : step === 0 ? (
        <>
          <ChooseSource done={choose} />
          {look.isPending && (
            <section className="card" aria-live="polite">
              <p>Looking at {source?.label} to find the format and types that hold every value.</p>
              <Skeleton lines={4} />
            </section>
          )}
        </>
      ) : (
        looked && (
          <Steps
            key={JSON.stringify(looked.plan.source.wire) + JSON.stringify(looked.plan.format)} looked={looked} step={step} next={() => setStep(2)}
            keep={(plan) => setLooked({ ...looked, plan })} begin={setBegun}
            again={(said) => look.mutate({ source: looked.plan.source, said: { ...pick(saidOf(looked.plan)), ...said } })} reformat={(format) => look.mutate({ source: looked.plan.source, format })}
          />
        )
      )}
      {look.error && !begun && <Failure error={look.error} retry={source && (() => look.mutate({ source }))} />}
    </View>
  );
}

/** How delimited text is read, without what was said of its columns. */
function pick({ header, delimiter }: Said): Partial<Said> {
  return { header, delimiter };
}

function Steps({ looked, step, next, keep, begin, again, reformat }: {
  looked: Looked;
  step: number;
  next: () => void;
  keep: (p: Plan) => void;
  begin: (b: Begun) => void;
  again: (said: Partial<Said>) => void;
  reformat: (format: Json) => void;
}) {
  const plan = looked.plan;
  const change = (p: Partial<Plan>) => keep({ ...plan, ...p });
  const [first] = useState(() => JSON.stringify(saidOf(plan)));
  const preview = usePreview(plan);
  const check = useCheck(plan, looked.found !== undefined && JSON.stringify(saidOf(plan)) !== first);
  const found = check.data;
  useEffect(() => {
    if (!found || check.isPlaceholderData || found.time !== (plan.time.column || undefined)) return;
    const time = { column: plan.time.column, format: found.timeFormat ?? plan.time.format, expression: found.timeExpression ?? undefined };
    keep({ ...plan, time, untimed: found.untimed ?? 0, keepTime: found.keepTime ?? false });
  }, [found]);
  if (step === 1) {
    return (
      <>
        <Shape plan={plan} change={change} found={looked.found} again={again} reformat={reformat} preview={preview} check={check} />
        <div className="row">
          <span className="grow" />
          <button className="primary" disabled={keptOf(plan).length === 0 && !plan.rollup} onClick={next}>
            Next
          </button>
        </div>
      </>
    );
  }
  return (
    <>
      <Store plan={plan} change={change} preview={preview.data} />
      <Submit plan={plan} done={begin} />
    </>
  );
}
