// Retention rules of a datasource, or the default rules of all.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { call } from "../api/client";
import { bytes, count } from "../api/format";
import { Failure, Skeleton, Tag } from "../ui/parts";
import { change, part } from "./change";
import { Changes, changesOf, Editor } from "./editor";
import { useIntervals, type Interval } from "./picture";
import { counted } from "./parts";
import { placeOf } from "./place";
import { actions, first, kindOf, problem, ruleOf, sentence, whens, type Rule } from "./rules";

const path = (name: string) => `/service/coordinator/v1/rules/${part(name)}`;

export function useRules(name: string) {
  return useQuery({ queryKey: ["rules", name], queryFn: ({ signal }) => call<Rule[]>("GET", path(name), undefined, signal) });
}

export function Retention({ name }: { name: string }) {
  const cache = useQueryClient();
  const own = useRules(name);
  const defaults = useRules("_default");
  const [history, setHistory] = useState(false);
  const isDefault = name === "_default";
  if (own.error) return <Failure error={own.error} retry={() => void own.refetch()} />;
  if (!own.data) return <Skeleton lines={6} />;
  return (
    <>
      <p className="muted">
        {isDefault
          ? "These rules apply after the rules of each datasource."
          : "The first rule that matches a segment applies. Rules of the datasource come first, then the default rules."}
      </p>
      <Editor<Rule[]>
        name="rules"
        value={own.data}
        form={(rules, edit) => <RuleForm rules={rules} change={edit} />}
        effect={(rules) => (isDefault ? <AllEffects /> : <Effect name={name} before={[...own.data, ...(defaults.data ?? [])]} after={[...rules, ...(defaults.data ?? [])]} />)}
        save={(rules, comment) => change("POST", path(name), rules, comment)}
        saved={() => {
          void cache.invalidateQueries({ queryKey: ["rules"] });
          void cache.invalidateQueries({ queryKey: ["changes", `rules of ${name}`] });
        }}
        actions={
          <button aria-pressed={history} onClick={() => setHistory(!history)}>
            History
          </button>
        }
      />
      {!isDefault && defaults.data && (
        <section className="note" aria-label="Default rules">
          <p>
            <b>Default rules</b> <Link href={placeOf("/datasources", { name: "_default", tab: "retention" })}>Edit them</Link>
          </p>
          {defaults.data.map((r, i) => (
            <p key={i}>{sentence(r)}</p>
          ))}
        </section>
      )}
      {history && (
        <Changes
          name={`rules of ${name}`}
          now={own.data}
          load={async (signal) => changesOf(await call("GET", `${path(name)}/history?count=50`, undefined, signal))}
        />
      )}
    </>
  );
}

function AllEffects() {
  return <p className="note warn">The default rules apply to segments that no rule of their datasource matches.</p>;
}

/** Says what becomes of the segments that are there under new rules. */
function Effect({ name, before, after }: { name: string; before: Rule[]; after: Rule[] }) {
  const intervals = useIntervals(name);
  if (intervals.error) return <Failure error={intervals.error} />;
  if (!intervals.data) return <Skeleton lines={2} />;
  const [was, is] = [fates(intervals.data, before), fates(intervals.data, after)];
  return (
    <div className={is.dropped.segments > was.dropped.segments ? "note warn" : "note"} role="status">
      <p>
        Of {counted(is.all.segments, "segment")}, the new rules drop <b>{count(is.dropped.segments)}</b> ({bytes(is.dropped.size)}, {count(is.dropped.rows)} rows); the
        present ones drop {count(was.dropped.segments)}.
      </p>
      {is.none.segments > 0 && <p>No rule matches {counted(is.none.segments, "segment")}: its segments stay as they are.</p>}
      <p className="muted">Dropped segments become unused. They stay in deep storage until they are permanently deleted.</p>
    </div>
  );
}

interface Sum {
  segments: number;
  rows: number;
  size: number;
}

function fates(intervals: Interval[], rules: Rule[]): { all: Sum; dropped: Sum; none: Sum } {
  const out = { all: sum(), dropped: sum(), none: sum() };
  const now = Date.now();
  for (const i of intervals) {
    const n = first(rules, i.from, i.to, now);
    const into = [out.all];
    if (n < 0) into.push(out.none);
    else if (kindOf(rules[n]!)?.[0] === "drop") into.push(out.dropped);
    for (const s of into) {
      s.segments += i.segments;
      s.rows += i.rows;
      s.size += i.size;
    }
  }
  return out;
}

const sum = (): Sum => ({ segments: 0, rows: 0, size: 0 });

function RuleForm({ rules, change }: { rules: Rule[]; change: (rules: Rule[]) => void }) {
  const set = (i: number, rule: Rule) => change(rules.map((r, at) => (at === i ? rule : r)));
  const move = (i: number, by: number) => {
    const list = [...rules];
    const [rule] = list.splice(i, 1);
    list.splice(i + by, 0, rule!);
    change(list);
  };
  return (
    <div className="stacked">
      {rules.length === 0 && <p className="muted">The datasource has no rules of its own.</p>}
      {rules.map((rule, i) => (
        <div className="rule" key={i} role="group" aria-label={`Rule ${i + 1}`}>
          <span className="n">{i + 1}</span>
          <OneRule rule={rule} change={(r) => set(i, r)} />
          <span className="row">
            <button aria-label={`Move rule ${i + 1} up`} disabled={i === 0} onClick={() => move(i, -1)}>
              ↑
            </button>
            <button aria-label={`Move rule ${i + 1} down`} disabled={i === rules.length - 1} onClick={() => move(i, 1)}>
              ↓
            </button>
            <button className="danger" aria-label={`Remove rule ${i + 1}`} onClick={() => change(rules.filter((_, at) => at !== i))}>
              Remove
            </button>
          </span>
        </div>
      ))}
      <div>
        <button onClick={() => change([...rules, ruleOf("load", "Forever", { type: "" })])}>Add a rule</button>
      </div>
    </div>
  );
}

function OneRule({ rule, change }: { rule: Rule; change: (rule: Rule) => void }) {
  const kind = kindOf(rule);
  if (!kind) return <p className="muted">{problem(rule)}</p>;
  const [action, when] = kind;
  const wrong = problem(rule);
  const possible = whens.filter((w) => w !== "BeforeByPeriod" || action === "drop");
  return (
    <div className="stacked">
      <div className="fields">
        <label className="field">
          Do
          <select aria-label="Action" value={action} onChange={(e) => change(ruleOf(e.target.value as typeof action, e.target.value !== "drop" && when === "BeforeByPeriod" ? "ByPeriod" : when, rule))}>
            {actions.map((a) => (
              <option key={a}>{a}</option>
            ))}
          </select>
        </label>
        <label className="field">
          Segments
          <select aria-label="Segments" value={when} onChange={(e) => change(ruleOf(action, e.target.value as typeof when, rule))}>
            {possible.map((w) => (
              <option key={w} value={w}>
                {{ Forever: "all", ByPeriod: "of the last period", ByInterval: "of an interval", BeforeByPeriod: "older than a period" }[w]}
              </option>
            ))}
          </select>
        </label>
        {rule.period !== undefined && (
          <label className="field">
            Period
            <input value={rule.period} spellCheck={false} onChange={(e) => change({ ...rule, period: e.target.value })} />
          </label>
        )}
        {rule.interval !== undefined && (
          <label className="field">
            Interval
            <input value={rule.interval} spellCheck={false} onChange={(e) => change({ ...rule, interval: e.target.value })} />
          </label>
        )}
        {when === "ByPeriod" && (
          <label>
            <input type="checkbox" checked={rule.includeFuture !== false} onChange={(e) => change({ ...rule, includeFuture: e.target.checked })} /> and the future
          </label>
        )}
      </div>
      {action === "load" && <Copies copies={rule.tieredReplicants ?? {}} change={(tieredReplicants) => change({ ...rule, tieredReplicants })} />}
      {wrong ? <span className="bad">{wrong}</span> : <span className="muted">{sentence(rule)}</span>}
    </div>
  );
}

function Copies({ copies, change }: { copies: Record<string, number>; change: (copies: Record<string, number>) => void }) {
  const list = Object.entries(copies);
  return (
    <div className="row">
      {list.map(([tier, n], i) => (
        <span className="row" key={i} role="group" aria-label={`Copies in tier ${i + 1}`}>
          <input
            aria-label={`Tier ${i + 1}`}
            value={tier}
            style={{ width: 140 }}
            onChange={(e) => change(Object.fromEntries(list.map(([t, c], at) => [at === i ? e.target.value : t, c])))}
          />
          <input
            aria-label={`Copies in ${tier}`}
            type="number"
            min={0}
            max={100}
            value={n}
            style={{ width: 70 }}
            onChange={(e) => change({ ...copies, [tier]: Math.max(0, Math.trunc(Number(e.target.value))) })}
          />
          <button aria-label={`Remove tier ${tier}`} onClick={() => change(Object.fromEntries(list.filter((_, at) => at !== i)))}>
            ×
          </button>
        </span>
      ))}
      <button disabled={"" in copies} onClick={() => change({ ...copies, [list.length === 0 ? "_default_tier" : ""]: 1 })}>
        Add a tier
      </button>
      {list.length === 0 && <Tag>deep storage only</Tag>}
    </div>
  );
}

