// The editor: one CodeMirror for all tabs, whose text is changed when another tab is chosen.
import { autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { keywordCompletionSource, SQLDialect, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import type { Diagnostic } from "@codemirror/lint";
import { EditorState, Prec, StateEffect } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useImperativeHandle, useRef, type Ref } from "react";
import type { Place } from "../api/client";
import { completions, type Catalog } from "./complete";
import { statementAt, type Statement } from "./statements";

const dialect = SQLDialect.define({
  keywords:
    "select from where group by order having limit offset as and or not in is null like between case when then else end join left right full inner outer cross on using union all distinct with recursive exists any some cast try_cast explain plan for analyze access user insert into replace overwrite partitioned clustered values over partition rows range preceding following unbounded current row filter within lateral unnest table extern extend grouping sets rollup cube interval date timestamp time true false asc desc nulls first last set fetch next only except intersect minus escape similar to pivot unpivot",
  types: "bigint integer smallint tinyint varchar char double float real decimal boolean timestamp date array complex other",
  builtin: "",
  doubleQuotedStrings: false,
  hashComments: false,
  slashComments: true,
  specialVar: "_", // names such as __time are one word
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)", fontWeight: "600" },
  { tag: tags.typeName, color: "var(--keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: tags.comment, color: "var(--text-2)", fontStyle: "italic" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--text)" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--accent-2)" },
  ".cm-tooltip": { background: "var(--bg-2)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "var(--on-accent)" },
  ".cm-panels": { background: "var(--bg-2)", color: "var(--text)" },
});

/** Opens the search, which is loaded when it is first wanted. */
function find(view: EditorView): boolean {
  void import("@codemirror/search").then(({ openSearchPanel, search, searchKeymap }) => {
    if (!searching.has(view)) view.dispatch({ effects: StateEffect.appendConfig.of([search({ top: true }), keymap.of(searchKeymap)]) });
    searching.add(view);
    openSearchPanel(view);
  });
  return true;
}

const searching = new WeakSet<EditorView>();

/** Underlines places of a text, as long as the editor still has it; what does that is loaded when it is first wanted. */
function underline(view: EditorView, text: string, places: Diagnostic[]): void {
  marked.add(view);
  void import("@codemirror/lint").then(({ setDiagnostics }) => {
    if (view.state.doc.toString() === text) view.dispatch(setDiagnostics(view.state, places));
  });
}

const marked = new WeakSet<EditorView>();

export interface EditorHandle {
  /** Returns what is selected, else the statement at the cursor. */
  statement(): Statement | undefined;
  /** Underlines a place of a statement that began at a position, and says why. */
  mark(from: number, place: Place | undefined, message: string): void;
  clear(): void;
  focus(): void;
}

interface Props {
  id: number;
  text: string;
  write: (text: string) => void;
  run: () => void;
  stop: () => void;
  catalog: Catalog | undefined;
  handle: Ref<EditorHandle>;
}

/** Returns the offset of a place in a statement. */
function offsetIn(statement: string, line: number, column: number): number {
  const lines = statement.split("\n");
  let at = 0;
  for (let i = 0; i < line - 1 && i < lines.length; i++) at += lines[i]!.length + 1;
  return at + column - 1;
}

export function Editor({ id, text, write, run, stop, catalog, handle }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  // Extensions are made once; they call what the newest render has.
  const now = useRef({ write, run, stop, catalog });
  now.current = { write, run, stop, catalog };

  useEffect(() => {
    const statementText = (at: number) => statementAt(view.current!.state.doc.toString(), at)?.text ?? "";
    const source = completions(() => now.current.catalog, statementText);
    const state = EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(), highlightActiveLine(),
        sql({ dialect, upperCaseKeywords: true }),
        autocompletion({ override: [source, keywordCompletionSource(dialect, true)], maxRenderedOptions: 50 }),
        syntaxHighlighting(colours), theme, EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "SQL" }),
        Prec.highest(
          keymap.of([
            { key: "Mod-Enter", run: (v) => (closeCompletion(v), now.current.run(), true) },
            { key: "Escape", run: () => (now.current.stop(), false) },
          ]),
        ),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, { key: "Mod-f", run: find }, ...historyKeymap, ...defaultKeymap, indentWithTab]),
        EditorView.updateListener.of((u) => {
          if (u.docChanged) now.current.write(u.state.doc.toString());
        }),
      ],
    });
    const v = new EditorView({ state, parent: place.current! });
    view.current = v;
    return () => v.destroy();
    // Another tab has another text, history and cursor.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [id]);

  // The text may be changed from outside: a condition that was added by a click.
  useEffect(() => {
    const v = view.current;
    if (v && v.state.doc.toString() !== text) v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: text } });
  }, [text]);

  useImperativeHandle(handle, () => ({
    statement() {
      const { state } = view.current!;
      const { from, to } = state.selection.main;
      if (from !== to) return { from, to, text: state.sliceDoc(from, to) };
      return statementAt(state.doc.toString(), from);
    },
    mark(from, at, message) {
      const v = view.current!;
      const doc = v.state.doc.toString();
      const statement = doc.slice(from);
      const start = from + (at ? offsetIn(statement, at.line, at.column) : 0);
      const end = from + (at ? offsetIn(statement, at.endLine, at.endColumn) + 1 : statement.length);
      const within = (n: number) => Math.max(0, Math.min(doc.length, n));
      const diagnostics: Diagnostic[] = [{ from: within(start), to: Math.max(within(start), within(end)), severity: "error", message }];
      underline(v, doc, diagnostics);
    },
    clear() {
      const v = view.current!;
      if (marked.has(v)) underline(v, v.state.doc.toString(), []);
    },
    focus() {
      view.current!.focus();
    },
  }));

  return <div ref={place} className="code" />;
}
