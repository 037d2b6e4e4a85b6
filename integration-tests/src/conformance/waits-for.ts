import type { ConformanceClass, ConformanceTest } from './official-tests.ts';

const IMAGES = 'the images of the official suite on the nodes';
const BACKED = 'services that pods stand behind, and their images on the nodes';
const ROUTING = 'service routing on the nodes';
const HOOKS = 'lifecycle hooks of the agent';

/** What tests of an area wait for, when it is something else than what most of their class wait for. */
const BY_AREA: Readonly<Record<ConformanceClass, Readonly<Record<string, string>>>> = {
  A: {},
  B: {},
  F: {
    'Preemption / PriorityClass': 'preemption by the scheduler',
  },
  R: {
    'Admission webhooks': BACKED,
    'Aggregator (APIService)': BACKED,
    'CRD conversion webhook': BACKED,
    'CRD selectable fields': BACKED,
    EndpointSlice: ROUTING,
    'Ephemeral containers': 'ephemeral containers of the agent',
    HostPort: 'host ports',
    'Image volume': 'image volumes of the agent',
    'In-place pod resize': 'in-place resize by the agent',
    'Lifecycle hooks': HOOKS,
    PreStop: HOOKS,
    Services: ROUTING,
    kubectl: ROUTING,
  },
};

const BY_CLASS: Readonly<Record<ConformanceClass, string>> = {
  A: 'a test of ours',
  B: 'a test of ours',
  F: IMAGES,
  R: IMAGES,
};

/** What a test waits for that nothing of ours asks yet. */
export function waitsFor(test: ConformanceTest): string {
  return BY_AREA[test.class][test.area] ?? BY_CLASS[test.class];
}
