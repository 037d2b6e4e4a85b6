// @vitest-environment happy-dom
import { act, cleanup, render, screen, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { expectAccessible } from '../testing/axe.ts';
import { ScrollBox } from './scroll-box.tsx';
import { Table } from './table.tsx';

/** happy-dom has no layout: what is shown is so wide and so high in its box. */
const content = { width: 0, height: 0 };
let observed: { readonly elements: Element[]; readonly report: () => void }[];

beforeEach(() => {
  observed = [];
  Object.assign(content, { width: 100, height: 100 });
  for (const name of ['clientWidth', 'clientHeight'] as const)
    vi.spyOn(HTMLElement.prototype, name, 'get').mockReturnValue(100);
  vi.spyOn(HTMLElement.prototype, 'scrollWidth', 'get').mockImplementation(() => content.width);
  vi.spyOn(HTMLElement.prototype, 'scrollHeight', 'get').mockImplementation(() => content.height);
  vi.stubGlobal('ResizeObserver', function (report: () => void) {
    const elements: Element[] = [];
    observed.push({ elements, report });
    return { observe: (one: Element) => elements.push(one), disconnect: () => (elements.length = 0) };
  });
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const resize = (size: Partial<typeof content>) => {
  Object.assign(content, size);
  act(() => {
    for (const { elements, report } of observed) if (elements.length > 0) report();
  });
};
const region = () => screen.queryByRole('region', { name: 'Nodes' });
const rows = (...names: readonly string[]): ReactNode => (
  <Table label="Nodes" of={['Node']}>
    {names.map((name) => (
      <tr key={name}>
        <td>{name}</td>
      </tr>
    ))}
  </Table>
);

it('is a stop of the keyboard, with a name, only while its content is larger', async () => {
  render(rows('a'));
  const table = screen.getByRole('table', { name: 'Nodes' });
  expect([region(), document.querySelector('[tabindex]')]).toEqual([null, null]);
  resize({ width: 101 });
  expect(region()?.tabIndex).toBe(0);
  expect(region()?.contains(table)).toBe(true);
  await expectAccessible();
  resize({ width: 100 });
  expect([region(), document.querySelector('[tabindex]')]).toEqual([null, null]);
  resize({ height: 101 });
  expect(region()?.tabIndex).toBe(0);
});

it('looks again when what it shows changes, which its size need not', async () => {
  const text = (shown: string) => (
    <ScrollBox as="pre" label="Nodes">
      {shown}
    </ScrollBox>
  );
  const { rerender } = render(text('short'));
  expect(region()).toBeNull();
  content.height = 300;
  rerender(text('long'));
  await waitFor(() => expect(region()?.textContent).toBe('long'));
});

it('observes its content, and nothing when it has gone', () => {
  const { unmount } = render(rows('a'));
  expect(observed.map(({ elements }) => elements.map(({ tagName }) => tagName))).toEqual([['DIV', 'TABLE']]);
  unmount();
  expect(observed.map(({ elements }) => elements)).toEqual([[]]);
});
