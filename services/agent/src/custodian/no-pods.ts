import { once } from 'node:events';
import type { ObjectReader } from '@gantry/client';
import { StatusError } from '@gantry/api';

/** What a node has whose object is gone: nothing may be read for it any more, and nothing of it is to stay. */
export const NO_PODS: ObjectReader = {
  get: (resource, key) => Promise.reject(StatusError.notFound(resource, key.name)),
  list: () => Promise.resolve({ items: [], resourceVersion: '1', continueToken: '' }),
  async *watch(_resource, _options, signal) {
    if (!signal.aborted) await once(signal, 'abort');
    signal.throwIfAborted();
    yield [];
  },
};
