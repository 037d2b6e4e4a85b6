import type { ResourceDefinition } from '@gantry/apimachinery';
import type { ResourceRef } from '@gantry/objects';

/** Resources that were added at run time. */
interface Addition {
  readonly definitions: readonly ResourceDefinition[];
  readonly retire: AbortController;
}

/** All served resources, built-in and custom. */
export class ResourceRegistry {
  readonly #builtIn: readonly ResourceDefinition[];
  readonly #added = new Map<string, Addition>();
  readonly #lifetimes = new WeakMap<ResourceDefinition, AbortSignal>();
  /** Definitions in nested maps by group, version and resource. Nested, since each request does many lookups. */
  #byRef = new Map<string, Map<string, Map<string, ResourceDefinition>>>();
  #byKind = new Map<string, ResourceDefinition>();
  #groups = new Set<string>();
  #definitions: readonly ResourceDefinition[] = [];
  #generation = 0;

  constructor(builtIn: readonly ResourceDefinition[]) {
    this.#builtIn = builtIn;
    this.#index();
  }

  /** All definitions in discovery order: built-in ones first, then added ones. */
  get definitions(): readonly ResourceDefinition[] {
    return this.#definitions;
  }

  /** Increases with every change. Data that was derived from an older generation is out of date. */
  get generation(): number {
    return this.#generation;
  }

  find({ group, version, resource }: ResourceRef): ResourceDefinition | undefined {
    return this.#byRef.get(group)?.get(version)?.get(resource);
  }

  findKind(group: string, version: string, kind: string): ResourceDefinition | undefined {
    return this.#byKind.get(`${group}/${version}/${kind}`);
  }

  /** Whether any resource of the group is served. */
  hasGroup(group: string): boolean {
    return group === '' || this.#groups.has(group);
  }

  /** A signal that is aborted when an added definition is no longer served. Undefined for built-in definitions. */
  lifetime(definition: ResourceDefinition): AbortSignal | undefined {
    return this.#lifetimes.get(definition);
  }

  /** Replaces the definitions that were added with this name. An empty list removes them. */
  set(name: string, definitions: readonly ResourceDefinition[]): void {
    const before = this.#added.get(name);
    if (before === undefined && definitions.length === 0) return;
    if (definitions.length === 0) this.#added.delete(name);
    else {
      const retire = new AbortController();
      for (const definition of definitions) this.#lifetimes.set(definition, retire.signal);
      this.#added.set(name, { definitions, retire });
    }
    this.#index();
    before?.retire.abort();
  }

  #index(): void {
    const added = [...this.#added.keys()].sort().flatMap((name) => this.#added.get(name)?.definitions ?? []);
    this.#definitions = [...this.#builtIn, ...added];
    this.#byRef = new Map();
    this.#byKind = new Map();
    for (const definition of this.#definitions) {
      const { group, version, resource, kind } = definition;
      const versions = this.#byRef.get(group) ?? new Map<string, Map<string, ResourceDefinition>>();
      const found = versions.get(version) ?? new Map<string, ResourceDefinition>();
      if (!found.has(resource)) found.set(resource, definition);
      this.#byRef.set(group, versions.set(version, found));
      const named = `${group}/${version}/${kind}`;
      if (!this.#byKind.has(named)) this.#byKind.set(named, definition);
    }
    this.#groups = new Set(this.#definitions.map(({ group }) => group));
    this.#generation++;
  }
}
