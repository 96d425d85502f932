// An editor of JSON, and the difference of two texts. It is a part of its own: views load it when
// it is wanted.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { linter } from "@codemirror/lint";
import { unifiedMergeView } from "@codemirror/merge";
import { Annotation, EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--keyword)" },
  { tag: tags.string, color: "var(--string)" },
  { tag: tags.number, color: "var(--number)" },
  { tag: [tags.bool, tags.null], color: "var(--number)" },
]);

/** Marks changes that nobody typed. */
const followed = Annotation.define<boolean>();

/** Edits a text of JSON. What is typed is told as it is, also when it is no JSON yet. */
export function Code({ label, text, change }: { label: string; text: string; change?: (text: string) => void }) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const told = useRef(change);
  told.current = change;
  useEffect(() => {
    const made = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          history(),
          bracketMatching(),
          json(),
          syntaxHighlighting(colours),
          linter(jsonParseLinter()),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.lineWrapping,
          EditorState.readOnly.of(!change),
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.updateListener.of((u) => u.docChanged && !u.transactions.some((t) => t.annotation(followed)) && told.current?.(u.state.doc.toString())),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
    // The text is followed below: a new editor would lose the cursor.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [label, !change]);
  useEffect(() => {
    const now = view.current;
    if (now && now.state.doc.toString() !== text) now.dispatch({ changes: { from: 0, to: now.state.doc.length, insert: text }, annotations: followed.of(true) });
  }, [text]);
  return <div className="jsoncode" ref={host} />;
}

/** Shows what changed from one text to another: removed lines above those that took their place. */
export function Difference({ label, before, after }: { label: string; before: string; after: string }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const made = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: after,
        extensions: [
          lineNumbers(),
          json(),
          syntaxHighlighting(colours),
          EditorView.lineWrapping,
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          unifiedMergeView({ original: before, mergeControls: false, gutter: true, collapseUnchanged: { margin: 3, minSize: 6 } }),
        ],
      }),
    });
    return () => made.destroy();
  }, [label, before, after]);
  return <div className="jsoncode" ref={host} />;
}
