import { ADMISSION_MUTANTS } from './admission.ts';
import { AFFINITY_MUTANTS } from './affinities.ts';
import { AGENT_ENGINE_MUTANTS } from './agent-engine.ts';
import { AGENT_REPAIR_MUTANTS } from './agent-repairs.ts';
import { AGENT_MUTANTS } from './agent.ts';
import { AUDIT_MUTANTS } from './audit.ts';
import { AUTH_MUTANTS } from './auth.ts';
import { CACHE_MUTANTS } from './caches.ts';
import { CONTROLLER_MUTANTS } from './controllers.ts';
import { CROWD_MUTANTS } from './crowds.ts';
import { CUSTODIAN_MUTANTS } from './custodian.ts';
import { JOB_MUTANTS } from './jobs.ts';
import { DAEMON_SET_MUTANTS } from './daemon-sets.ts';
import { DISRUPTION_MUTANTS } from './disruptions.ts';
import { EVICTION_MUTANTS } from './evictions.ts';
import { FENCE_MUTANTS } from './fences.ts';
import { POD_RESOURCE_MUTANTS } from './pod-resources.ts';
import { POLICY_MUTANTS } from './policies.ts';
import { PREEMPTION_MUTANTS } from './preemptions.ts';
import { REPLICA_SET_MUTANTS } from './replica-sets.ts';
import { STREAM_MUTANTS } from './streams.ts';
import { STATEFUL_SET_MUTANTS } from './stateful-sets.ts';
import { STORAGE_MUTANTS } from './storage.ts';
import { VOLUME_MUTANTS } from './volumes.ts';
import { HOST_MUTANTS } from './hosts.ts';
import { IMAGE_USER_MUTANTS } from './image-users.ts';
import { INGRESS_MUTANTS } from './ingresses.ts';
import { SERVICE_MUTANTS } from './services.ts';
import { TOKEN_MUTANTS } from './tokens.ts';
import { USAGE_MUTANTS } from './usage.ts';
import type { Areas } from '../mutant.ts';

/** The protecting lines that a test must miss. `mutants.ts` runs them. */
export const AREAS: Areas = {
  storage: STORAGE_MUTANTS,
  fences: FENCE_MUTANTS,
  caches: CACHE_MUTANTS,
  crowds: CROWD_MUTANTS,
  controllers: CONTROLLER_MUTANTS,
  jobs: JOB_MUTANTS,
  'daemon sets': DAEMON_SET_MUTANTS,
  'replica sets': REPLICA_SET_MUTANTS,
  'stateful sets': STATEFUL_SET_MUTANTS,
  'disruptions and endpoints': DISRUPTION_MUTANTS,
  volumes: VOLUME_MUTANTS,
  agent: AGENT_MUTANTS,
  "agent's engine": AGENT_ENGINE_MUTANTS,
  'users of images': IMAGE_USER_MUTANTS,
  "pods' resources": POD_RESOURCE_MUTANTS,
  "agent's repairs": AGENT_REPAIR_MUTANTS,
  custodian: CUSTODIAN_MUTANTS,
  evictions: EVICTION_MUTANTS,
  affinities: AFFINITY_MUTANTS,
  preemptions: PREEMPTION_MUTANTS,
  usage: USAGE_MUTANTS,
  services: SERVICE_MUTANTS,
  policies: POLICY_MUTANTS,
  hosts: HOST_MUTANTS,
  ingresses: INGRESS_MUTANTS,
  streams: STREAM_MUTANTS,
  audit: AUDIT_MUTANTS,
  auth: AUTH_MUTANTS,
  tokens: TOKEN_MUTANTS,
  admission: ADMISSION_MUTANTS,
};
