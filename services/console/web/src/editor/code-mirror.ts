import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { yaml } from '@codemirror/lang-yaml';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useState } from 'react';

/** The colours of the page: custom properties reach into a shadow tree. */
const THEME = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--surface)', height: '100%', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--raised)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 30%, transparent)',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    maxWidth: '32rem',
    padding: '0.25rem',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--accent-text)',
  },
  '.cm-changedLine, &.cm-merge-b .cm-changedLine': {
    backgroundColor: 'color-mix(in srgb, var(--good) 12%, transparent) !important',
  },
  '.cm-deletedChunk': { backgroundColor: 'color-mix(in srgb, var(--bad) 12%, transparent) !important' },
  '.cm-changedText, &.cm-merge-b .cm-changedText': {
    background: 'color-mix(in srgb, var(--good) 30%, transparent) !important',
  },
  '.cm-deletedText, .cm-deletedChunk .cm-deletedText': {
    background: 'color-mix(in srgb, var(--bad) 30%, transparent) !important',
  },
  // On these grounds, the colours of names, numbers and comments have a contrast of 3.0 to 4.2, where 4.5 is needed.
  '.cm-changedText, .cm-changedText *, .cm-deletedText, .cm-deletedText *': { color: 'var(--text) !important' },
  '.cm-collapsedLines': { background: 'var(--raised) !important', color: 'var(--muted) !important' },
});

const HIGHLIGHT = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.content], color: 'var(--text)' },
  { tag: [tags.comment, tags.meta], color: 'var(--muted)' },
  { tag: [tags.keyword, tags.bool, tags.number], color: 'var(--waiting)' },
]);

/** What every view of YAML has. */
export const YAML_VIEW: Extension = [
  THEME,
  syntaxHighlighting(HIGHLIGHT),
  yaml(),
  lineNumbers(),
  EditorView.lineWrapping,
  EditorState.tabSize.of(2),
];

/**
 * A CodeMirror in a shadow tree: there it adds its styles as adopted sheets, which a Content-Security-Policy without `unsafe-inline` allows.
 * Returns the callback for the host element, and the view when it exists.
 */
export function useCodeMirror(create: () => EditorState): {
  readonly host: (element: HTMLElement | null) => void;
  readonly view: EditorView | undefined;
} {
  const [element, host] = useState<HTMLElement | null>(null);
  const [view, setView] = useState<EditorView>();
  useEffect(() => {
    if (element === null) return undefined;
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
    const created = new EditorView({ state: create(), parent: root, root });
    setView(created);
    return () => {
      created.destroy();
      setView(undefined);
    };
    // The state is made once for each element.
  }, [element]);
  return { host, view };
}
