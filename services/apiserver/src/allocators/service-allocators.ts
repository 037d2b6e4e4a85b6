import type { ResourceDefinition } from '@gantry/apimachinery';
import {
  type FieldError,
  type KubeObject,
  type Service,
  type ServiceSpec,
  StatusError,
  invalid,
} from '@gantry/objects';
import { type Clock, type Random, withDeadline } from '@gantry/base';
import { fromStore } from '../storage/store-errors.ts';
import type { ObjectStore, Unchanged } from '../storage/object-store.ts';
import { type AddressSpace, containsAddress, givenAddresses, randomAddress } from './service-range.ts';
import { type Allocation, type Allocators, type Claimant, noAllocation } from './allocators.ts';
import { ADDRESSES, ALLOCATIONS, Claims, NODE_PORTS, type Owner, ownerOf as ownerOfClaim } from './claims.ts';

const FIRST_PORT = 30_000;
const LAST_PORT = 32_767;
/** Ports below this one are left for Services that request them. Random ports use them only if all others are taken. */
const FIRST_GIVEN_PORT = 30_086;
const GIVE_BACK_MS = 5000;
/** Random attempts before the free addresses or ports are searched in order. */
const RANDOM_TRIES = 16;

const TAKEN = 'provided port is already allocated';

interface Work {
  readonly owner: Owner;
  readonly signal: AbortSignal;
  readonly dryRun: boolean;
  /** The claims of this write so far, by key. */
  readonly claimed: Map<string, Unchanged>;
  /** The claims that this write has created. A concurrent write of the same Service may have created the others. */
  readonly created: string[];
}

/** Allocates addresses and node ports of Services. Each is unique, also with several apiservers. */
export class ServiceAllocators implements Allocators {
  readonly #claims: Claims;
  readonly #clock: Clock;
  readonly #space: AddressSpace;
  readonly #random: Random;

  constructor(deps: { store: ObjectStore; clock: Clock; random: Random; space: AddressSpace }) {
    this.#claims = new Claims(deps.store, deps.clock, (service, key) => keysOf(service).has(key));
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#space = deps.space;
  }

  isClaimant(definition: ResourceDefinition): boolean {
    return isService(definition);
  }

  async claim({ definition, object, old, dryRun }: Claimant, signal: AbortSignal): Promise<Allocation> {
    if (!isService(definition)) return noAllocation;
    const service = object as Service;
    const held = old === undefined ? new Set<string>() : keysOf(old);
    const work: Work = { owner: ownerOf(service), dryRun, signal, claimed: new Map(), created: [] };
    try {
      await this.#address(service, held, work);
      await this.#ports(service, held, { ...work, isNew: old === undefined });
    } catch (error) {
      await this.#giveBack(work.created, work.owner);
      throw error;
    }
    const needed = keysOf(service);
    return {
      claims: [...work.claimed.values()],
      commit: () =>
        this.#giveBack(
          [...held].filter((key) => !needed.has(key)),
          work.owner,
        ),
      rollback: () => this.#giveBack(work.created, work.owner),
    };
  }

  async release(definition: ResourceDefinition, object: KubeObject): Promise<void> {
    if (isService(definition)) await this.#giveBack([...keysOf(object)], ownerOf(object));
  }

  /**
   * Adds the missing claims of stored Services, and releases claims that no Service needs. If several Services have the same address or
   * port, returns it for each Service that does not have the claim. Called at start.
   */
  async repair(services: readonly Service[], signal: AbortSignal): Promise<readonly Duplicate[]> {
    const claimed = await fromStore(this.#claims.all(ALLOCATIONS, signal));
    const holders = new Map(claimed.map((claim) => [claim.key, ownerOfClaim(claim).uid]));
    const duplicates: Duplicate[] = [];
    for (const service of services) {
      for (const key of keysOf(service)) {
        const owner = ownerOf(service);
        if (holders.get(key) === owner.uid) {
          holders.delete(key);
          continue;
        }
        const outcome = await fromStore(this.#claims.claim(key, owner, { orphans: 'taken-over' }, signal));
        if (outcome.kind === 'taken') duplicates.push(duplicateOf(key, service));
      }
    }
    const unneeded = claimed.filter((claim) => holders.has(claim.key));
    await fromStore(this.#claims.releaseOrphans(unneeded, signal));
    return duplicates;
  }

  async #address(service: Service, held: ReadonlySet<string>, work: Work): Promise<void> {
    const { spec } = service;
    if (spec === undefined || !needsAddress(spec)) return;
    const asked = spec.clusterIP ?? '';
    if (asked === '') {
      const address = await this.#freeAddress(service, work);
      spec.clusterIP = address;
      spec.clusterIPs = [address];
      return;
    }
    spec.clusterIPs ??= [asked];
    if (held.has(`${ADDRESSES}${asked}`)) return;
    const refuse = (why: string) =>
      invalidService(service, invalid('spec.clusterIPs', [asked], `failed to allocate IP ${asked}: ${why}`));
    if (!this.#space.ranges().some((range) => containsAddress(range, asked))) {
      throw refuse('the provided network does not match the current range');
    }
    const isReserved = this.#space.isReserved(asked, service);
    if (isReserved || !(await this.#take(`${ADDRESSES}${asked}`, work, 'taken-over')))
      throw refuse('provided IP is already allocated');
  }

  async #freeAddress(service: Service, work: Work): Promise<string> {
    const take = async (address: string | undefined): Promise<string | undefined> => {
      if (address === undefined || this.#space.isReserved(address, service)) return undefined;
      return (await this.#take(`${ADDRESSES}${address}`, work)) ? address : undefined;
    };
    for (const range of this.#space.ranges()) {
      for (let tries = 0; tries < RANDOM_TRIES; tries++) {
        const address = await take(randomAddress(range, this.#random));
        if (address !== undefined) return address;
      }
      const found = await this.#search(ADDRESSES, givenAddresses(range), take, work.signal);
      if (found !== undefined) return found;
    }
    throw StatusError.internal('failed to allocate a serviceIP: range is full');
  }

  /** Takes the first free one of `values`. If all are claimed, releases the claims that no Service needs, and tries again. */
  async #search<T extends number | string>(
    prefix: string,
    values: Iterable<T>,
    take: (value: T) => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const all = [...values];
    for (;;) {
      const claims = await fromStore(this.#claims.all(prefix, signal));
      const taken = new Set(claims.map((one) => one.key));
      for (const value of all) {
        const found = taken.has(`${prefix}${value}`) ? undefined : await take(value);
        if (found !== undefined) return found;
      }
      if ((await fromStore(this.#claims.releaseOrphans(claims, signal))) === 0) return undefined;
    }
  }

  async #ports(
    service: Service,
    held: ReadonlySet<string>,
    { isNew, ...work }: Work & { readonly isNew: boolean },
  ): Promise<void> {
    const { spec } = service;
    if (spec === undefined || !needsNodePorts(spec)) return;
    const errors: FieldError[] = [];
    for (const [index, port] of (spec.ports ?? []).entries()) {
      const asked = port.nodePort ?? 0;
      if (asked === 0) continue;
      const field = `spec.ports[${index}].nodePort`;
      const why = await this.#askedPort(asked, held, work);
      if (why !== undefined) errors.push(invalid(field, asked, why));
    }
    const health = spec.healthCheckNodePort ?? 0;
    if (needsHealthPort(spec) && health !== 0) {
      const isOwn = (spec.ports ?? []).some(({ nodePort }) => nodePort === health);
      const why = isOwn ? TAKEN : await this.#askedPort(health, held, work);
      if (why !== undefined) errors.push(invalid('spec.healthCheckNodePort', health, why));
    }
    if (errors.length > 0) throw invalidService(service, ...errors);
    const allocates = spec.type !== 'LoadBalancer' || spec.allocateLoadBalancerNodePorts !== false;
    // As in Kubernetes: in a new Service, ports with the same number and different protocols share a node port. In an update they do not.
    const byNumber = new Map<number, number>();
    for (const { port, nodePort = 0 } of isNew ? (spec.ports ?? []) : []) {
      if (nodePort !== 0 && !byNumber.has(port)) byNumber.set(port, nodePort);
    }
    for (const port of allocates ? (spec.ports ?? []) : []) {
      if ((port.nodePort ?? 0) !== 0) continue;
      const nodePort = byNumber.get(port.port) ?? (await this.#freePort(held, work));
      if (isNew) byNumber.set(port.port, nodePort);
      port.nodePort = nodePort;
    }
    if (needsHealthPort(spec) && health === 0) spec.healthCheckNodePort = await this.#freePort(held, work);
  }

  /** Takes a requested node port. Returns the reason if it is not available. */
  async #askedPort(port: number, held: ReadonlySet<string>, work: Work): Promise<string | undefined> {
    const key = `${NODE_PORTS}${port}`;
    if (held.has(key) || work.claimed.has(key)) return undefined;
    if (port < FIRST_PORT || port > LAST_PORT) {
      return `provided port is not in the valid range. The range of valid ports is ${FIRST_PORT}-${LAST_PORT}`;
    }
    return (await this.#take(key, work, 'taken-over')) ? undefined : TAKEN;
  }

  /** Takes a port that no Service has. It skips the ports of this Service, since claiming one's own port succeeds. */
  async #freePort(held: ReadonlySet<string>, work: Work): Promise<number> {
    const count = LAST_PORT - FIRST_GIVEN_PORT + 1;
    for (let tries = 0; tries < RANDOM_TRIES; tries++) {
      const port = FIRST_GIVEN_PORT + Math.floor(this.#random() * count);
      if (await this.#takeNew(`${NODE_PORTS}${port}`, held, work)) return port;
    }
    const ports = Array.from(
      { length: LAST_PORT - FIRST_PORT + 1 },
      (_, offset) => FIRST_PORT + ((FIRST_GIVEN_PORT - FIRST_PORT + offset) % (LAST_PORT - FIRST_PORT + 1)),
    );
    const take = async (port: number) => ((await this.#takeNew(`${NODE_PORTS}${port}`, held, work)) ? port : undefined);
    const found = await this.#search(NODE_PORTS, ports, take, work.signal);
    if (found !== undefined) return found;
    throw StatusError.internal('failed to allocate a nodePort: range is full');
  }

  async #takeNew(key: string, held: ReadonlySet<string>, work: Work): Promise<boolean> {
    return !held.has(key) && !work.claimed.has(key) && (await this.#take(key, work));
  }

  /** Takes a key. `orphans` is 'taken-over' for a requested key, and 'left' if another key would also do. */
  async #take(key: string, work: Work, orphans: 'left' | 'taken-over' = 'left'): Promise<boolean> {
    if (work.dryRun) return !(await fromStore(this.#claims.isTaken(key, work.owner, work.signal)));
    const outcome = await fromStore(this.#claims.claim(key, work.owner, { orphans }, work.signal));
    if (outcome.kind === 'taken') return false;
    work.claimed.set(key, outcome.claim);
    if (outcome.kind === 'created') work.created.push(key);
    return true;
  }

  /**
   * Releases claims, except those that the stored Service needs: a concurrent write of the same Service may have committed them. If this
   * fails, the repair at the next start releases the claim, or another Service that requests the key takes it over.
   */
  async #giveBack(keys: readonly string[], owner: Owner): Promise<void> {
    if (keys.length === 0) return;
    using signal = withDeadline(this.#clock, new AbortController().signal, GIVE_BACK_MS);
    await Promise.allSettled(keys.map((key) => this.#claims.release(key, owner, signal)));
  }
}

/** An address or a port of a stored Service, whose claim another Service has. */
export interface Duplicate {
  readonly service: Service;
  readonly held:
    | { readonly kind: 'address'; readonly address: string }
    | { readonly kind: 'port'; readonly port: number };
}

function duplicateOf(key: string, service: Service): Duplicate {
  return key.startsWith(ADDRESSES)
    ? { service, held: { kind: 'address', address: key.slice(ADDRESSES.length) } }
    : { service, held: { kind: 'port', port: Number(key.slice(NODE_PORTS.length)) } };
}

function isService(definition: ResourceDefinition): boolean {
  return definition.group === '' && definition.resource === 'services';
}

function ownerOf(service: Service): Owner {
  const { namespace = '', name = '', uid = '' } = service.metadata;
  return { namespace, name, uid };
}

function needsAddress(spec: ServiceSpec): boolean {
  return spec.type !== 'ExternalName' && spec.clusterIP !== 'None';
}

function needsNodePorts(spec: ServiceSpec): boolean {
  return spec.type === 'NodePort' || spec.type === 'LoadBalancer';
}

function needsHealthPort(spec: ServiceSpec): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
}

/** The keys of the claims that a Service needs. */
function keysOf(service: Service): Set<string> {
  const keys = new Set<string>();
  const { spec = {} } = service;
  if (needsAddress(spec) && (spec.clusterIP ?? '') !== '') keys.add(`${ADDRESSES}${spec.clusterIP}`);
  if (!needsNodePorts(spec)) return keys;
  const ports = [...(spec.ports ?? []).map((port) => port.nodePort ?? 0), spec.healthCheckNodePort ?? 0];
  for (const port of ports) if (port !== 0) keys.add(`${NODE_PORTS}${port}`);
  return keys;
}

function invalidService(service: Service, ...errors: FieldError[]): StatusError {
  return StatusError.invalid('', 'Service', service.metadata.name ?? '', errors);
}
