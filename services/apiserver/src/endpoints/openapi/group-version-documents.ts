import { createHash } from 'node:crypto';
import {
  type Describe,
  encodeOpenApiV2Part,
  openApiDocument,
  openApiV2JsonPart,
  type OpenApiV2Part,
  type ResourceDefinition,
} from '@gantry/apimachinery';
import type { JsonObject } from '@gantry/objects';
import type { RemoteOpenApi } from '../../aggregation/remote-openapi.ts';

/** An encoded document with its hash. */
export interface EncodedDocument {
  readonly bytes: Buffer;
  /** SHA-512, in upper-case hexadecimal. */
  readonly hash: string;
}

export function encodedDocument(bytes: Buffer): EncodedDocument {
  return { bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() };
}

/** The resources at one path below `/openapi/v3`. */
export interface ServedGroupVersion {
  /** `api/v1`, `apis/apps/v1`, … */
  readonly path: string;
  /** The resources that this server itself serves at the path. */
  readonly definitions: readonly ResourceDefinition[];
  /** The document of an extension server. In OpenAPI v3 it takes precedence. */
  readonly remote: RemoteOpenApi | undefined;
}

/** Options of documents: the version that they name, and the descriptions of fields. */
export interface DocumentOptions {
  readonly version: string;
  readonly describe: Describe;
}

/** The encoded forms of the document of one group version. Each is built at its first use. */
export class GroupVersionDocuments {
  readonly #served: ServedGroupVersion;
  readonly #options: DocumentOptions;
  #v3: EncodedDocument | undefined;
  #v2: readonly OpenApiV2Part<Uint8Array>[] | undefined;
  #v2Json: readonly OpenApiV2Part<string>[] | undefined;

  constructor(served: ServedGroupVersion, options: DocumentOptions) {
    this.#served = served;
    this.#options = options;
  }

  /** Whether the documents are still current for the served resources. */
  isOf({ definitions, remote }: ServedGroupVersion): boolean {
    const own = this.#served.definitions;
    return (
      remote === this.#served.remote &&
      definitions.length === own.length &&
      definitions.every((definition, at) => definition === own[at])
    );
  }

  v3(): EncodedDocument {
    const { path, definitions, remote } = this.#served;
    const build = () => Buffer.from(JSON.stringify(openApiDocument(definitions, path, this.#options)));
    return (this.#v3 ??= encodedDocument(remote?.v3 ?? build()));
  }

  /** Parts of OpenAPI v2 as protobuf: Gantry's own, then that of the extension server. */
  v2(): readonly OpenApiV2Part<Uint8Array>[] {
    const { remote } = this.#served;
    return (this.#v2 ??= [...this.#own().map(encodeOpenApiV2Part), ...(remote === undefined ? [] : [remote.v2])]);
  }

  /** Parts of OpenAPI v2 as JSON. */
  v2Json(): readonly OpenApiV2Part<string>[] {
    const { remote } = this.#served;
    return (this.#v2Json ??= [...this.#own().map(openApiV2JsonPart), ...(remote === undefined ? [] : [remote.v2Json])]);
  }

  /** The document of the resources that this server serves itself. */
  #own(): readonly JsonObject[] {
    const { path, definitions } = this.#served;
    return definitions.length === 0 ? [] : [openApiDocument(definitions, path, { ...this.#options, form: 'v2' })];
  }
}
