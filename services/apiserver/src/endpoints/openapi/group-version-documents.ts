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

/** A document as it is sent. */
export interface EncodedDocument {
  readonly bytes: Buffer;
  /** SHA-512, in upper-case hexadecimal. */
  readonly hash: string;
}

export function encodedDocument(bytes: Buffer): EncodedDocument {
  return { bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() };
}

/** What is served at one path below `/openapi/v3`. */
export interface ServedGroupVersion {
  /** `api/v1`, `apis/apps/v1`, … */
  readonly path: string;
  /** The resources that this server has there. */
  readonly definitions: readonly ResourceDefinition[];
  /** The document of an extension server; it counts in OpenAPI v3. */
  readonly remote: JsonObject | undefined;
}

/** How documents are built: the version that they name, and the texts about fields. */
export interface DocumentOptions {
  readonly version: string;
  readonly describe: Describe;
}

/** The encoded forms of one group version's document, each built when it is first read. */
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

  /** Whether these are still the documents of what is served at the path. */
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
    const build = () => remote ?? openApiDocument(definitions, path, this.#options);
    return (this.#v3 ??= encodedDocument(Buffer.from(JSON.stringify(build()))));
  }

  /** Parts of OpenAPI v2 in protobuf: ours, then that of the extension server. */
  v2(): readonly OpenApiV2Part<Uint8Array>[] {
    return (this.#v2 ??= this.#v2Documents().map(encodeOpenApiV2Part));
  }

  /** The same parts as JSON texts. */
  v2Json(): readonly OpenApiV2Part<string>[] {
    return (this.#v2Json ??= this.#v2Documents().map(openApiV2JsonPart));
  }

  #v2Documents(): readonly JsonObject[] {
    const { path, definitions, remote } = this.#served;
    const own = definitions.length === 0 ? [] : [openApiDocument(definitions, path, { ...this.#options, form: 'v2' })];
    return remote === undefined ? own : [...own, remote];
  }
}
