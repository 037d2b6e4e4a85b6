import { ignoreReasons, isNamespaceTerminating } from '@gantry/client';
import { carryOut, type ControllerSpec, watchMapped } from '@gantry/controller-runtime';
import { CONFIG_MAPS, NAMESPACES, StatusError } from '@gantry/objects';
import type { RootCaMeter } from '../../metrics/meters.ts';
import { type Action, planRootCa, ROOT_CA } from './plan.ts';

/** Publishes the CA certificate in every namespace. Keys are namespaces. `readCa` returns the newest PEM. */
export function createRootCaController(readCa: () => string, meter: RootCaMeter): ControllerSpec {
  return {
    name: 'root-ca',
    eventSource: 'root-ca-cert-publisher',
    watches: [
      watchMapped(NAMESPACES, ({ metadata }) => [{ namespace: '', name: metadata.name ?? '' }]),
      watchMapped(CONFIG_MAPS, ({ metadata }) =>
        metadata.name === ROOT_CA ? [{ namespace: '', name: metadata.namespace ?? '' }] : [],
      ),
    ],
    reconcile: async ({ name }, { cache, client, clock }, signal) => {
      const namespace = cache.get(NAMESPACES, { namespace: '', name });
      const configMap = cache.get(CONFIG_MAPS, { namespace: name, name: ROOT_CA });
      const execute = async ({ kind, configMap: object }: Action) => {
        const written =
          kind === 'create' ? client.create(CONFIG_MAPS, object, signal) : client.update(CONFIG_MAPS, object, signal);
        try {
          await ignoreReasons(written, ['AlreadyExists', 'NotFound']);
        } catch (error) {
          // A quota or policy that rejects this now may allow it later.
          if (!isNamespaceTerminating(error)) throw error;
        }
      };
      const startedAt = clock.now();
      const synced = (code: number) => meter.synced(code, (clock.now() - startedAt) / 1000);
      try {
        const result = await carryOut(planRootCa(namespace, configMap, readCa()), execute, clock);
        synced(200);
        return result;
      } catch (error) {
        synced(error instanceof StatusError ? error.code : 500);
        throw error;
      }
    },
  };
}
