import { ADMISSION_MUTANTS } from './areas/admission.ts';
import { AGENT_MUTANTS } from './areas/agent.ts';
import { AUTH_MUTANTS } from './areas/auth.ts';
import { CACHE_MUTANTS } from './areas/caches.ts';
import { CONTROLLER_MUTANTS } from './areas/controllers.ts';
import { JOB_MUTANTS } from './areas/jobs.ts';
import { DAEMON_SET_MUTANTS } from './areas/daemon-sets.ts';
import { DISRUPTION_MUTANTS } from './areas/disruptions.ts';
import { EVICTION_MUTANTS } from './areas/evictions.ts';
import { FENCE_MUTANTS } from './areas/fences.ts';
import { POLICY_MUTANTS } from './areas/policies.ts';
import { REPLICA_SET_MUTANTS } from './areas/replica-sets.ts';
import { STREAM_MUTANTS } from './areas/streams.ts';
import { STATEFUL_SET_MUTANTS } from './areas/stateful-sets.ts';
import { STORAGE_MUTANTS } from './areas/storage.ts';
import { VOLUME_MUTANTS } from './areas/volumes.ts';
import { HOST_MUTANTS } from './areas/hosts.ts';
import { INGRESS_MUTANTS } from './areas/ingresses.ts';
import { SERVICE_MUTANTS } from './areas/services.ts';
import { USAGE_MUTANTS } from './areas/usage.ts';
import type { Areas } from './mutant.ts';

/** The protecting lines that a test must miss. `mutants.ts` runs them. */
export const AREAS: Areas = {
  storage: STORAGE_MUTANTS,
  fences: FENCE_MUTANTS,
  caches: CACHE_MUTANTS,
  controllers: CONTROLLER_MUTANTS,
  jobs: JOB_MUTANTS,
  'daemon sets': DAEMON_SET_MUTANTS,
  'replica sets': REPLICA_SET_MUTANTS,
  'stateful sets': STATEFUL_SET_MUTANTS,
  'disruptions and endpoints': DISRUPTION_MUTANTS,
  volumes: VOLUME_MUTANTS,
  agent: AGENT_MUTANTS,
  evictions: EVICTION_MUTANTS,
  usage: USAGE_MUTANTS,
  services: SERVICE_MUTANTS,
  policies: POLICY_MUTANTS,
  hosts: HOST_MUTANTS,
  ingresses: INGRESS_MUTANTS,
  streams: STREAM_MUTANTS,
  auth: AUTH_MUTANTS,
  admission: ADMISSION_MUTANTS,
};
