import { afterEach, expect, it, vi } from 'vitest';
import { layOut } from './layout.ts';

const GRAPH = { nodes: [{ id: 'Pod/a', kind: 'Pod', name: 'a' }], edges: [], left: 0 } as unknown as Parameters<
  typeof layOut
>[0];

/** A worker that responds to what it is sent as `respond` says. */
function stubWorker(respond: (worker: FakeWorker, id: number) => void): readonly FakeWorker[] {
  const made: FakeWorker[] = [];
  vi.stubGlobal('Worker', function () {
    const worker = new FakeWorker(respond);
    made.push(worker);
    return worker;
  });
  return made;
}

class FakeWorker extends EventTarget {
  onmessage: (event: { readonly data: unknown }) => void = () => {};
  isTerminated = false;
  readonly #respond: (worker: FakeWorker, id: number) => void;

  constructor(respond: (worker: FakeWorker, id: number) => void) {
    super();
    this.#respond = respond;
  }

  postMessage({ id }: { readonly id: number }): void {
    queueMicrotask(() => this.#respond(this, id));
  }

  terminate(): void {
    this.isTerminated = true;
  }
}

afterEach(() => vi.unstubAllGlobals());

it('says where nodes are, and ends its worker', async () => {
  const workers = stubWorker((worker, id) =>
    worker.onmessage({ data: { id, data: { id: 'root', children: [{ id: 'Pod/a', x: 12, y: 7 }] } } }),
  );
  expect(await layOut(GRAPH, new AbortController().signal)).toEqual(new Map([['Pod/a', { x: 12, y: 7 }]]));
  expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true]);
});

it('fails when the file of the worker does not load, so that it can be tried again', async () => {
  const workers = stubWorker((worker) => void worker.dispatchEvent(new Event('error')));
  await expect(layOut(GRAPH, new AbortController().signal)).rejects.toThrow('its file did not load');
  expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true]);
});

it('ends its worker when nobody waits any more', async () => {
  const workers = stubWorker(() => {});
  const abort = new AbortController();
  const placed = layOut(GRAPH, abort.signal);
  abort.abort();
  await expect(placed).rejects.toThrow('aborted');
  expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true]);
});
