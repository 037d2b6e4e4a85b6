import type { ResourceDefinition } from '@gantry/apimachinery';
import { bindings } from './binding.ts';
import { componentStatuses } from './component-status.ts';
import { configMaps } from './config-map.ts';
import { endpoints } from './endpoints.ts';
import { events } from './event.ts';
import { limitRanges } from './limit-range.ts';
import { namespaces } from './namespace.ts';
import { nodes } from './node.ts';
import { podTemplates } from './pod-template.ts';
import { pods } from './pod/pod.ts';
import { replicationControllers } from './replication-controller.ts';
import { resourceQuotas } from './resource-quota.ts';
import { secrets } from './secret.ts';
import { serviceAccounts } from './service-account.ts';
import { services } from './service/service.ts';
import { persistentVolumeClaims } from './volumes/persistent-volume-claim.ts';
import { persistentVolumes } from './volumes/persistent-volume.ts';

/** The kinds of the core group, in discovery's order. */
export const coreKinds: readonly ResourceDefinition[] = [
  bindings,
  componentStatuses,
  configMaps,
  endpoints,
  events,
  limitRanges,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  podTemplates,
  replicationControllers,
  resourceQuotas,
  secrets,
  serviceAccounts,
  services,
];
