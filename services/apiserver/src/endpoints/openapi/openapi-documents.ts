import { setImmediate as turn } from 'node:timers/promises';
import { joinOpenApiV2, joinOpenApiV2Json, openApiPathOf, type ResourceDefinition } from '@gantry/apimachinery';
import type { RemoteOpenApi } from '../../aggregation/remote-openapi.ts';
import {
  type DocumentOptions,
  type EncodedDocument,
  encodedDocument,
  GroupVersionDocuments,
} from './group-version-documents.ts';

/**
 * The OpenAPI documents of one set of served resources. The documents of group versions are built one at a time, in separate turns of
 * the event loop, since all of them take up to a second.
 */
export class OpenApiDocuments {
  readonly #options: DocumentOptions;
  readonly #groupVersions: ReadonlyMap<string, GroupVersionDocuments>;
  #v2: Promise<EncodedDocument> | undefined;
  #v2Json: Promise<EncodedDocument> | undefined;

  private constructor(options: DocumentOptions, groupVersions: ReadonlyMap<string, GroupVersionDocuments>) {
    this.#options = options;
    this.#groupVersions = groupVersions;
  }

  static create(options: DocumentOptions): OpenApiDocuments {
    return new OpenApiDocuments(options, new Map());
  }

  /**
   * The documents for new definitions, and for documents of extension servers by path. Reuses the documents of group versions whose
   * definitions are the same objects as before.
   */
  following(definitions: readonly ResourceDefinition[], remote: ReadonlyMap<string, RemoteOpenApi>): OpenApiDocuments {
    const own = Map.groupBy(definitions, openApiPathOf);
    const paths = [...new Set([...own.keys(), ...remote.keys()])].sort();
    const groupVersions = paths.map((path): [string, GroupVersionDocuments] => {
      const served = { path, definitions: own.get(path) ?? [], remote: remote.get(path) };
      const known = this.#groupVersions.get(path);
      return [path, known?.isOf(served) === true ? known : new GroupVersionDocuments(served, this.#options)];
    });
    return new OpenApiDocuments(this.#options, new Map(groupVersions));
  }

  /** The paths below /openapi/v3: `api/v1`, `apis/apps/v1`, … */
  get paths(): readonly string[] {
    return [...this.#groupVersions.keys()];
  }

  /** The OpenAPI v3 document of one group version. */
  get(path: string): EncodedDocument | undefined {
    return this.#groupVersions.get(path)?.v3();
  }

  /** The index of OpenAPI v3 documents, with the URL and the hash of each. */
  async index(): Promise<object> {
    const hashes = await this.#fromEach((documents) => documents.v3().hash);
    return {
      paths: Object.fromEntries(
        this.paths.map((path, at) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hashes[at] ?? ''}` }]),
      ),
    };
  }

  /** The OpenAPI v2 document of all resources, as protobuf. */
  v2(): Promise<EncodedDocument> {
    return (this.#v2 ??= this.#fromEach((documents) => documents.v2()).then((parts) =>
      encodedDocument(Buffer.from(joinOpenApiV2(parts.flat(), this.#options.version))),
    ));
  }

  /** The OpenAPI v2 document of all resources, as JSON. */
  v2Json(): Promise<EncodedDocument> {
    return (this.#v2Json ??= this.#fromEach((documents) => documents.v2Json()).then((parts) =>
      encodedDocument(Buffer.from(joinOpenApiV2Json(parts.flat(), this.#options.version))),
    ));
  }

  async #fromEach<T>(read: (documents: GroupVersionDocuments) => T): Promise<T[]> {
    const results: T[] = [];
    for (const documents of this.#groupVersions.values()) {
      results.push(read(documents));
      await turn();
    }
    return results;
  }
}
