import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import type { ReactNode } from 'react';
import { useCodeMirror, YAML_VIEW } from './code-mirror.ts';

interface Props {
  readonly before: string;
  readonly after: string;
}

/** The difference of two YAML texts; equal parts are folded. */
export function DiffView(props: Props): ReactNode {
  return props.before === props.after ? (
    <p className="muted">There is no difference.</p>
  ) : (
    <Diff key={`${props.before}\0${props.after}`} {...props} />
  );
}

function Diff({ before, after }: Props): ReactNode {
  const { host } = useCodeMirror(() =>
    EditorState.create({
      doc: after,
      extensions: [
        YAML_VIEW,
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        EditorView.contentAttributes.of({ 'aria-label': 'Difference', tabindex: '0' }),
        unifiedMergeView({
          original: before,
          mergeControls: false,
          collapseUnchanged: { margin: 3 },
          allowInlineDiffs: false,
        }),
      ],
    }),
  );
  return <div className="code diff" ref={host} />;
}
