import { ACCOUNT_PROOFS } from './accounts.ts';
import { ADMISSION_POLICIES } from './admission-policies.ts';
import { AGGREGATION_PROOFS } from './aggregation.ts';
import { CHUNKING_PROOFS } from './chunking.ts';
import { CONTROLLER_PROOFS } from './controllers.ts';
import { CONVERSION_PROOFS } from './conversion.ts';
import { CUSTOM_RESOURCES } from './custom-resources.ts';
import { DEVICE_PROOFS } from './devices.ts';
import { DISRUPTION_PROOFS } from './disruption.ts';
import { ENDPOINT_PROOFS } from './endpoints.ts';
import { DISCOVERY } from './discovery.ts';
import { EVENT_PROOFS } from './events.ts';
import { FIELD_VALIDATION } from './field-validation.ts';
import { JOB_PROOFS } from './jobs.ts';
import { KUBECTL_PROOFS } from './kubectl-commands.ts';
import { LIFECYCLES } from './lifecycles.ts';
import { NAMESPACE_PROOFS } from './namespaces.ts';
import { NETWORK_PROOFS } from './network.ts';
import { NODE_OBJECT_PROOFS } from './node-objects.ts';
import { OPENAPI } from './openapi.ts';
import { OPENAPI_KUBECTL } from './openapi-kubectl.ts';
import { OPERATIONS } from './operations-table.ts';
import { QUOTA_PROOFS } from './quotas.ts';
import { SCHEDULING_PROOFS } from './scheduling.ts';
import { WATCH_PROOFS } from './watches.ts';
import { WEBHOOK_CONFIGURATION_PROOFS } from './webhook-configurations.ts';
import { WEBHOOK_PROOFS } from './webhooks.ts';
import { REPLICATION_CONTROLLER_PROOFS } from './replication-controllers.ts';
import type { Proof } from './world.ts';

/** All that our suite asks. */
export const PROOFS: readonly Proof[] = [
  ...OPERATIONS,
  ...DISCOVERY,
  ...CUSTOM_RESOURCES,
  ...OPENAPI,
  ...OPENAPI_KUBECTL,
  ...FIELD_VALIDATION,
  ...ADMISSION_POLICIES,
  ...NAMESPACE_PROOFS,
  ...LIFECYCLES,
  ...CHUNKING_PROOFS,
  ...WATCH_PROOFS,
  ...ACCOUNT_PROOFS,
  ...KUBECTL_PROOFS,
  ...EVENT_PROOFS,
  ...NETWORK_PROOFS,
  ...ENDPOINT_PROOFS,
  ...DISRUPTION_PROOFS,
  ...JOB_PROOFS,
  ...REPLICATION_CONTROLLER_PROOFS,
  ...NODE_OBJECT_PROOFS,
  ...DEVICE_PROOFS,
  ...QUOTA_PROOFS,
  ...CONTROLLER_PROOFS,
  ...SCHEDULING_PROOFS,
  ...WEBHOOK_PROOFS,
  ...WEBHOOK_CONFIGURATION_PROOFS,
  ...CONVERSION_PROOFS,
  ...AGGREGATION_PROOFS,
];
