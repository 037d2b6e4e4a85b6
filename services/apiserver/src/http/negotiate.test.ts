import { StatusError } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import {
  acceptedDiscovery,
  acceptedForStatus,
  negotiateDocument,
  negotiateInput,
  negotiateOutput,
  negotiatePatch,
} from './negotiate.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

function form(accept: string | undefined): string {
  try {
    const { mediaType, shape, metaVersion } = negotiateOutput(accept, 'single');
    return `${mediaType} ${shape} ${metaVersion}`;
  } catch (error) {
    return error instanceof StatusError ? `${error.code}` : 'crash';
  }
}

describe('negotiateOutput', () => {
  it('makes no table of what is not stored', () => {
    expect(() => negotiateOutput(TABLE, 'single', 'no-tables')).toThrow(StatusError);
    expect(negotiateOutput(`${TABLE},application/json`, 'single', 'no-tables').shape).toBe('object');
  });

  it.each([
    [undefined, 'application/json object v1'],
    ['*/*', 'application/json object v1'],
    ['application/yaml', 'application/yaml object v1'],
    ['application/vnd.kubernetes.protobuf,application/json', 'application/vnd.kubernetes.protobuf object v1'],
    ['application/json;q=0.5,application/yaml', 'application/yaml object v1'],
    [`${TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`, 'application/json table v1'],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json', 'application/json table v1beta1'],
    [
      'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
      'application/vnd.kubernetes.protobuf partial-list v1',
    ],
    ['application/json;as=Table;v=v9;g=meta.k8s.io', '406'],
    ['application/json;as=Table;v=v9;g=meta.k8s.io,application/json', 'application/json object v1'],
    ['text/csv', '406'],
  ])('%s gives %s', (accept, expected) => {
    expect(form(accept)).toBe(expected);
  });
});

describe('other negotiation', () => {
  it('reads bodies of three types, with parameters, and JSON when nothing is said', () => {
    expect(negotiateInput(undefined)).toBe('application/json');
    expect(negotiateInput('application/json; charset=utf-8')).toBe('application/json');
    expect(() => negotiateInput('text/plain')).toThrow('unknown format');
  });

  it('refuses patches of unknown or no type', () => {
    expect(negotiatePatch('application/merge-patch+json', { schema: 'core.v1.Pod' })).toBe(
      'application/merge-patch+json',
    );
    expect(() => negotiatePatch(undefined, { schema: 'core.v1.Pod' })).toThrow('415: Unsupported Media Type');
  });

  it('knows the aggregated form of discovery, without its beta', () => {
    const v2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const v2beta1 = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';
    expect(acceptedDiscovery(`${v2},${v2beta1},application/json`)).toBe('application/json');
    expect(acceptedDiscovery(`${v2beta1},${v2.replace('json', 'yaml')}`)).toBe('application/yaml');
    expect(acceptedDiscovery(`${v2beta1},application/json`)).toBeUndefined();
    expect(acceptedDiscovery(`application/json,${v2}`)).toBeUndefined();
    expect(acceptedDiscovery('application/json')).toBeUndefined();
  });
});

describe('documents and errors', () => {
  const code = (run: () => unknown) => {
    try {
      return run();
    } catch (error) {
      return error instanceof StatusError ? error.message.split('\n')[0] : error;
    }
  };
  const ONLY =
    'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf';

  it.each([
    [undefined, 'application/json', 'application/json'],
    ['application/yaml', 'application/yaml', 'application/yaml'],
    ['application/*', '406: Not Acceptable', 'application/json'],
    ['text/html', '406: Not Acceptable', ONLY],
    ['application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io', ONLY, ONLY],
  ])('take %s by the router as %s, without it as %s', (accept, routed, direct) => {
    expect(code(() => negotiateDocument(accept, 'routed'))).toBe(routed);
    expect(code(() => negotiateDocument(accept, 'direct'))).toBe(direct);
  });

  it('answer errors in a form that is accepted, or in JSON', () => {
    expect(acceptedForStatus('application/yaml;as=Table;v=v1;g=meta.k8s.io')).toBe('application/json');
    expect(acceptedForStatus('application/json;q=0.5,application/yaml')).toBe('application/yaml');
    expect(acceptedForStatus('text/html')).toBe('application/json');
  });
});
