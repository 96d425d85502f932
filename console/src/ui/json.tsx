// An editor of JSON, which says where the text is wrong.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { faultIn } from "./fault";

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--keyword)" },
  { tag: tags.string, color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
]);

function diagnose(text: string): Diagnostic[] {
  const fault = faultIn(text);
  return fault ? [{ from: fault.at, to: Math.min(text.length, fault.at + 1), severity: "error", message: fault.text }] : [];
}

/** Escape leaves the editor, so that Tab can write an indent and the keyboard still gets out. */
export default function JsonEditor({ label, value, change, height, readOnly }: {
  label: string;
  value: string;
  change?: (text: string) => void;
  height?: number;
  readOnly?: boolean;
}) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const told = useRef(change);
  told.current = change;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const v: EditorView = new EditorView({
      parent: place.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          lineNumbers(), history(), bracketMatching(), indentOnInput(), json(), syntaxHighlighting(colours), EditorView.lineWrapping,
          EditorState.readOnly.of(!!readOnly), EditorView.editable.of(!readOnly),
          keymap.of([
            { key: "Escape", run: (e) => (e.contentDOM.blur(), place.current?.parentElement?.querySelector<HTMLElement>("button, input, select")?.focus(), true) },
            ...defaultKeymap, ...historyKeymap, indentWithTab,
          ]),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorView.updateListener.of((u) => {
            if (!u.docChanged) return;
            told.current?.(u.state.doc.toString());
            clearTimeout(timer);
            timer = setTimeout(() => v.dispatch(setDiagnostics(v.state, diagnose(v.state.doc.toString()))), 300);
          }),
        ],
      }),
    });
    view.current = v;
    return () => (clearTimeout(timer), v.destroy());
    // The editor lives as long as the label: its text is its own.
  }, [label, readOnly]);
  useEffect(() => {
    const v = view.current;
    if (v && v.state.doc.toString() !== value) v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={place} className="jsonedit" style={{ height: height ?? 240 }} />;
}
