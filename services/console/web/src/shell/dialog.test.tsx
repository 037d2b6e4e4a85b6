// @vitest-environment happy-dom
import { act, cleanup, fireEvent, render, renderHook, screen } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import { Dialog, useRun } from './dialog.tsx';

afterEach(cleanup);

describe('a dialog', () => {
  it('gives the focus to its first field, not to the button that closes', () => {
    render(
      <Dialog title="Scale web" onClose={() => {}}>
        <input aria-label="Replicas" />
      </Dialog>,
    );
    expect(document.activeElement).toBe(screen.getByLabelText('Replicas'));
    expect(screen.getByRole('dialog', { name: 'Scale web' })).toBeDefined();
  });
});

describe('work that a person has started', () => {
  const started = () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const closed: string[] = [];
    const work = async (signal: AbortSignal) => {
      await promise;
      if (!signal.aborted) closed.push('closed');
    };
    return { work, resolve, reject, closed };
  };

  it('ends what it was started in', async () => {
    const { result } = renderHook(useRun);
    const { work, resolve, closed } = started();
    act(() => result.current.run(work));
    expect(result.current.isBusy).toBe(true);
    await act(async () => resolve());
    expect([result.current.isBusy, closed]).toEqual([false, ['closed']]);
  });

  it('reports its failure', async () => {
    const { result } = renderHook(useRun);
    const { work, reject } = started();
    act(() => result.current.run(work));
    await act(async () => reject(new TypeError('refused')));
    expect([result.current.isBusy, String(result.current.error)]).toEqual([false, 'TypeError: refused']);
  });

  it('closes nothing after the person has left', async () => {
    const { result, unmount } = renderHook(useRun);
    const { work, resolve, closed } = started();
    act(() => result.current.run(work));
    unmount();
    await act(async () => resolve());
    expect(closed).toEqual([]);
  });

  it('closes nothing, and reports nothing, when other work was started since', async () => {
    const { result } = renderHook(useRun);
    const [first, second] = [started(), started()];
    act(() => result.current.run(first.work));
    act(() => result.current.run(second.work));
    await act(async () => first.reject(new TypeError('late')));
    expect([result.current.isBusy, result.current.error]).toEqual([true, undefined]);
    await act(async () => second.resolve());
    expect([first.closed, second.closed]).toEqual([[], ['closed']]);
  });
});

it('Escape closes a dialog', () => {
  const closed: string[] = [];
  render(
    <Dialog title="Any" onClose={() => closed.push('closed')}>
      text
    </Dialog>,
  );
  // The browser closes it, and says so.
  fireEvent(screen.getByRole('dialog'), new Event('close'));
  expect(closed).toEqual(['closed']);
});
