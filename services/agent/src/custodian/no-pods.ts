import { once } from 'node:events';
import type { ObjectReader } from '@gantry/client';
import { StatusError } from '@gantry/objects';

/** Reads nothing: for a node without an object. Its containers then belong to deleted pods. */
export const NO_PODS: ObjectReader = {
  get: (resource, key) => Promise.reject(StatusError.notFound(resource, key.name)),
  list: () => Promise.resolve({ items: [], resourceVersion: '1', continueToken: '' }),
  async *watch(_resource, _options, signal) {
    if (!signal.aborted) await once(signal, 'abort');
    signal.throwIfAborted();
    yield [];
  },
};
