// @vitest-environment happy-dom
import { StatusError } from '@gantry/objects';
import { fireEvent, screen, waitFor } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { CONFIG_MAPS, kindOf } from '../testing/kinds.ts';
import { renderInConsole, type Sent } from '../testing/render.tsx';
import type { AnyObject } from './use-object.ts';
import { YamlTab } from './yaml-tab.tsx';

// CodeMirror measures what it shows.
vi.mock('../editor/diff-view.tsx', () => ({ DiffView: () => <pre>the difference</pre> }));
vi.mock('../editor/yaml-editor.tsx', () => ({
  YamlEditor: ({
    text,
    isReadOnly,
    onChange,
  }: {
    text: string;
    isReadOnly: boolean;
    onChange: (to: string) => void;
  }) => (
    <textarea
      aria-label="YAML"
      defaultValue={text}
      readOnly={isReadOnly}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  ),
}));

const OBJECT: AnyObject = {
  apiVersion: 'v1',
  kind: 'Configmap',
  metadata: { name: 'settings', namespace: 'shop', uid: 'u', resourceVersion: '1' },
  data: { size: 'small' },
};

/** Somebody else manages the data: only an apply with force changes them. */
function server({ method, path, body }: Sent): unknown {
  if (method !== 'PATCH') return {};
  if (!path.includes('force=true')) throw new StatusError('Conflict', 'conflict with "kubectl"');
  return { ...OBJECT, ...(body as object) };
}

async function openTab(object: AnyObject = OBJECT, kind = CONFIG_MAPS) {
  const sent: Sent[] = [];
  const of = (given: AnyObject) => <YamlTab kind={kind} namespace="shop" name="settings" object={given} />;
  const page = await renderInConsole(of(object), {
    server: (one) => {
      sent.push(one);
      return server(one);
    },
  });
  await screen.findByLabelText('YAML');
  return {
    ...page,
    change: (given: AnyObject) => page.show(of(given)),
    patches: () => sent.filter((one) => one.method === 'PATCH').map(({ path }) => path.split('?')[1]),
  };
}

const editor = () => screen.getByLabelText<HTMLTextAreaElement>('YAML');
const button = (name: string) => screen.getByRole<HTMLButtonElement>('button', { name });
const type = (from: string, to: string) =>
  fireEvent.change(editor(), { target: { value: editor().value.replace(from, to) } });

it('takes fields over for the text for which a person has agreed, and for no other', async () => {
  const page = await openTab();
  type('small', 'large');
  fireEvent.click(button('Check with a dry run'));
  fireEvent.click(await screen.findByRole('button', { name: 'Take over these fields' }));
  await screen.findByRole('region', { name: 'Result of the dry run' });
  type('large', 'huge');
  expect(screen.queryByRole('region')).toBeNull();
  expect(button('Apply').disabled).toBe(true);
  fireEvent.click(button('Check with a dry run'));
  await screen.findByRole('button', { name: 'Take over these fields' });
  expect(button('Apply').disabled).toBe(true);
  expect(page.patches().map((query) => query?.includes('force'))).toEqual([false, true, false]);
});

it('applies what was checked, as it was checked', async () => {
  const page = await openTab();
  type('small', 'large');
  fireEvent.click(button('Check with a dry run'));
  fireEvent.click(await screen.findByRole('button', { name: 'Take over these fields' }));
  await waitFor(() => expect(button('Apply').disabled).toBe(false));
  fireEvent.click(button('Apply'));
  await waitFor(() => expect(page.patches().at(-1)).toBe('fieldManager=gantry-console&force=true'));
});

it('keeps what is being written when the object changes, and says so', async () => {
  const page = await openTab();
  type('small', 'large');
  page.change({ ...OBJECT, metadata: { ...OBJECT.metadata, resourceVersion: '2' } });
  await screen.findByText('The object has changed since.');
  expect(editor().value).toContain('large');
  fireEvent.click(button('Load it again'));
  expect(editor().value).toContain('small');
});

it('masks the values of a Secret, and writes none of the masked ones', async () => {
  await openTab({ ...OBJECT, kind: 'Secret', data: { password: 'aHVudGVyMg==' } }, kindOf('secrets'));
  expect(editor().value).not.toContain('aHVudGVyMg==');
  expect(editor().readOnly).toBe(true);
  fireEvent.click(button('Show values'));
  expect(editor().value).toContain('aHVudGVyMg==');
  expect(editor().readOnly).toBe(false);
});
