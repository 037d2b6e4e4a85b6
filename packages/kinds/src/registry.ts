import type { ResourceDefinition } from '@gantry/apimachinery';
import type { ResourceRef } from '@gantry/objects';
import { admissionregistrationKinds } from './admissionregistration/index.ts';
import { apiextensionsKinds } from './apiextensions/index.ts';
import { apiregistrationKinds } from './apiregistration/index.ts';
import { appsKinds } from './apps/index.ts';
import { authenticationKinds } from './authentication/index.ts';
import { authorizationKinds } from './authorization/index.ts';
import { autoscalingKinds } from './autoscaling/index.ts';
import { batchKinds } from './batch/index.ts';
import { certificatesKinds, optionalCertificatesKinds } from './certificates/index.ts';
import { coordinationKinds } from './coordination/index.ts';
import { coreKinds } from './core/index.ts';
import { discoveryKinds } from './discovery/index.ts';
import { eventsKinds } from './events/index.ts';
import { flowcontrolKinds } from './flowcontrol/index.ts';
import { networkingKinds } from './networking/index.ts';
import { nodeKinds } from './node/index.ts';
import { policyKinds } from './policy/index.ts';
import { rbacKinds } from './rbac/index.ts';
import { resourceKinds } from './resource/index.ts';
import { schedulingKinds } from './scheduling/index.ts';
import { storageKinds } from './storage/index.ts';

/** The built-in resources, group by group: those of Kubernetes in discovery's order, then our own. A kind is a line in its group's list. */
export const resources: readonly ResourceDefinition[] = [
  ...coreKinds,
  ...appsKinds,
  ...eventsKinds,
  ...authenticationKinds,
  ...authorizationKinds,
  ...autoscalingKinds,
  ...batchKinds,
  ...certificatesKinds,
  ...networkingKinds,
  ...admissionregistrationKinds,
  ...coordinationKinds,
  ...discoveryKinds,
  ...storageKinds,
  ...policyKinds,
  ...rbacKinds,
  ...schedulingKinds,
  ...nodeKinds,
  ...resourceKinds,
  ...flowcontrolKinds,
  ...apiregistrationKinds,
  ...apiextensionsKinds,
];

/** Built-in resources that Kubernetes 1.36 serves only if `--runtime-config` enables them; `GANTRY_RUNTIME_CONFIG` does so here. */
export const optionalResources: readonly ResourceDefinition[] = [...optionalCertificatesKinds];

/** The definition of a resource by group, version and plural. */
export function findResource(ref: ResourceRef): ResourceDefinition | undefined {
  return resources.find((r) => r.group === ref.group && r.version === ref.version && r.resource === ref.resource);
}

/** The definition of a kind by group, version and kind. If several resources share a kind, the stored one. */
export function findKind(group: string, version: string, kind: string): ResourceDefinition | undefined {
  return resources.find((r) => r.group === group && r.version === version && r.kind === kind);
}
