import { ENDPOINTS, SERVICES } from '@gantry/objects';
import { SERVED, servicePorts, userSubsets } from './service-contents.ts';
import type { SimulatedKind } from './simulated-kind.ts';

/** Labels that users put on Services and Endpoints. */
const TIERS = ['front', 'back'];

/** Services with a selector, and Services whose Endpoints users maintain, which are mirrored to slices. */
export const SERVICE_KINDS: readonly SimulatedKind[] = [
  {
    resource: SERVICES,
    controllers: ['endpoint-slice', 'endpoints', 'garbage-collector'],
    objects: 2,
    create: (dice) => ({
      spec: {
        selector: { app: dice.pick(SERVED) },
        ports: servicePorts(dice),
        publishNotReadyAddresses: dice.chance(0.2),
        ...(dice.chance(0.3) ? { clusterIP: 'None' } : {}),
      },
    }),
    changes: [
      (dice) => ({ spec: { selector: { app: dice.pick(SERVED) } } }),
      (dice) => ({ spec: { ports: servicePorts(dice) } }),
      (dice) => ({ spec: { publishNotReadyAddresses: dice.chance(0.5) } }),
      (dice) => ({ metadata: { labels: { tier: dice.pick(TIERS) } } }),
    ],
    leavesOrphans: false,
    waits: 'not',
  },
  {
    name: 'mirrored',
    resource: SERVICES,
    controllers: ['endpoint-slice-mirroring', 'endpoints', 'endpoint-slice'],
    objects: 1,
    create: (dice) => ({ spec: { ports: servicePorts(dice) } }),
    changes: [(dice) => ({ metadata: { labels: { tier: dice.pick(TIERS) } } })],
    // The Service is not deleted, since its Endpoints, which users change, would be deleted with it.
    stays: true,
    waits: 'not',
  },
  {
    name: 'mirrored',
    resource: ENDPOINTS,
    controllers: ['endpoint-slice-mirroring', 'endpoints', 'garbage-collector'],
    objects: 1,
    create: (dice) => ({ subsets: userSubsets(dice, 1) }),
    changes: [
      (dice) => ({ subsets: userSubsets(dice, 0) }),
      (dice) => ({ subsets: userSubsets(dice, 0) }),
      (dice) => ({ metadata: { labels: { tier: dice.pick(TIERS) } } }),
      (dice) => ({ metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': dice.pick(['true', 'false']) } } }),
    ],
    waits: 'not',
  },
];
