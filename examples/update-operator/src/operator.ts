import { CONFIG_MAPS, type Controller, NODES, type ObjectKey, watchMapped } from '@gantry/operator';
import { type OperatorAction, type OperatorSettings, planOperator } from './plan-operator.ts';
import { type RebootWindow, windowAt } from './reboot-window.ts';

/** One key for all nodes, because how many may reboot depends on all of them. */
const ALL = { namespace: '', name: 'nodes' };

export interface OperatorOptions extends OperatorSettings {
  /** The ConfigMap with the slots. */
  readonly slots: ObjectKey;
  /** When reboots may begin; always when undefined. */
  readonly window: RebootWindow | undefined;
}

/** Decides which nodes may reboot. */
export function updateOperator({ slots: at, window, ...settings }: OperatorOptions): Controller {
  return {
    name: 'update-operator',
    watches: [
      watchMapped(NODES, () => [ALL]),
      watchMapped(CONFIG_MAPS, ({ metadata }) =>
        metadata.namespace === at.namespace && metadata.name === at.name ? [ALL] : [],
      ),
    ],
    // A decision is made only from a cache that has all earlier ones.
    awaitOwnWrites: 'always',
    reconcile: async (_, { cache, client, clock, events, log }, signal) => {
      const { isOpen, changesAt } = windowAt(window, clock.now());
      const slots = cache.get(CONFIG_MAPS, at);
      const execute = async (action: OperatorAction): Promise<void> => {
        if (action.kind === 'writeSlots') {
          const { resourceVersion } = slots?.metadata ?? {};
          const metadata = { ...at, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
          const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { ...action.slots } };
          if (slots === undefined) await client.create(CONFIG_MAPS, object, signal);
          else await client.update(CONFIG_MAPS, object, signal);
          log.info({ nodes: Object.keys(action.slots) }, 'slots');
          return;
        }
        const key = { namespace: '', name: action.node };
        const node = await client.patch(NODES, key, { merge: action.patch }, signal);
        events.event(node, 'Normal', 'UpdateStep', `The update operator: ${action.step}`);
        log.info({ node: action.node, step: action.step }, 'step');
      };
      const observed = { nodes: cache.list(NODES), slots, isWindowOpen: isOpen };
      for (const action of planOperator(observed, settings)) await execute(action);
      return changesAt === undefined ? {} : { requeueAfterMs: Math.max(0, changesAt - clock.now()) };
    },
  };
}
