import { CONFIG_MAPS, declare, withCondition } from '@gantry/operator';
import { GREETINGS } from './greeting.ts';

/** Keeps the ConfigMaps of each object. What is no longer desired is deleted. */
export const createController = () =>
  declare({
    name: 'greetings',
    for: GREETINGS,
    owns: [CONFIG_MAPS],
    desire: ({ object, now }) => {
      const { copies, message } = object.spec;
      const configMaps = Array.from({ length: copies }, (_, index) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `${object.metadata.name}-${index}` },
        data: { message },
      }));
      const ready = { type: 'Ready', status: 'True', reason: 'Copied', message: `There are ${copies} copies` } as const;
      return { objects: configMaps, status: { conditions: withCondition(object.status?.conditions, ready, now) } };
    },
  });
