import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { indentOnInput } from '@codemirror/language';
import { linter, lintGutter } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, highlightActiveLine, hoverTooltip, keymap, type Tooltip } from '@codemirror/view';
import { type ReactNode, useEffect, useRef } from 'react';
import { useCodeMirror, YAML_VIEW } from './code-mirror.ts';
import { problemsOf } from './problems.ts';
import { type SchemaLookup, typeName } from './schema.ts';
import { positionAt } from './yaml-position.ts';

interface Props {
  /** The text at the beginning; what is written later is the editor's. */
  readonly text: string;
  readonly isReadOnly: boolean;
  readonly lookup: SchemaLookup | undefined;
  readonly onChange: (text: string) => void;
}

/** An editor of YAML: completion, descriptions under the pointer, and problems, by the server's schema. */
export function YamlEditor({ text, isReadOnly, lookup, onChange }: Props): ReactNode {
  const changed = useRef(onChange);
  useEffect(() => {
    changed.current = onChange;
  }, [onChange]);
  const { host } = useCodeMirror(() =>
    EditorState.create({
      doc: text,
      extensions: [
        YAML_VIEW,
        EditorState.readOnly.of(isReadOnly),
        EditorView.contentAttributes.of({ 'aria-label': 'YAML', tabindex: '0' }),
        history(),
        indentOnInput(),
        closeBrackets(),
        highlightActiveLine(),
        // Tab leaves the editor, as it leaves every other field.
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) changed.current(state.doc.toString());
        }),
        lookup === undefined ? [] : schemaHelp(lookup),
        isReadOnly ? [] : [lintGutter(), linter((view) => lint(view, lookup))],
      ],
    }),
  );
  return <div className="code" ref={host} />;
}

function schemaHelp(lookup: SchemaLookup) {
  return [
    autocompletion({ override: [(context) => complete(context, lookup)], icons: false }),
    hoverTooltip((view, offset) => describe(view, offset, lookup)),
  ];
}

function lint(view: EditorView, lookup: SchemaLookup | undefined) {
  return problemsOf(view.state.doc.toString(), lookup).map(({ from, to, message }) => ({
    from,
    to: Math.min(to, view.state.doc.lineAt(from).to),
    message,
    severity: 'error' as const,
  }));
}

function complete({ state, pos, explicit }: CompletionContext, lookup: SchemaLookup): CompletionResult | null {
  const { path, writes, prefix } = positionAt(state.doc.toString(), pos);
  if (prefix === '' && !explicit) return null;
  const from = pos - prefix.length;
  const parent = lookup.at(path);
  if (writes.kind === 'value') {
    const values = lookup.member(parent, writes.key)?.enum ?? [];
    return { from, options: values.map((value) => ({ label: String(value) })) };
  }
  const options = Object.keys(parent?.properties ?? {}).map((name): Completion => {
    const schema = lookup.member(parent, name);
    return {
      label: name,
      detail: typeName(schema, lookup),
      apply: `${name}: `,
      ...(schema?.description === undefined ? {} : { info: schema.description }),
    };
  });
  return { from, options, validFor: /^\w*$/ };
}

function describe(view: EditorView, offset: number, lookup: SchemaLookup): Tooltip | null {
  const line = view.state.doc.lineAt(offset);
  const colon = /^[\s-]*[^\s:#][^:]*(?=:)/.exec(line.text)?.[0].length;
  if (colon === undefined || offset > line.from + colon) return null;
  const { path, writes } = positionAt(view.state.doc.toString(), line.from + colon + 1);
  const key = writes.kind === 'value' ? writes.key : '';
  const schema = lookup.member(lookup.at(path), key);
  if (schema?.description === undefined) return null;
  const { description } = schema;
  return {
    pos: line.from + colon - key.length,
    above: true,
    create: () => {
      const dom = document.createElement('div');
      dom.textContent = `${typeName(schema, lookup)}: ${description}`;
      return { dom };
    },
  };
}
