// Who may import whom: `npm run check:imports`. Imports of types count.
const { globSync } = require('node:fs');

const TESTS = '\\.test\\.tsx?$|/testing/|/testing\\.ts$|^integration-tests/|^bench/';
const SOME_PACKAGE = '^(proto|packages/[^/]+)/';

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

const BETWEEN_WORKSPACES = [
  forbid(
    'packages-below-services',
    'A package knows no service. The test kit of operators has the API server in it.',
    { path: SOME_PACKAGE, pathNot: '^packages/operator/src/(testing/|.*\\.test\\.ts$)' },
    { path: '^(services|deploy|integration-tests|bench)/' },
  ),
  forbid(
    'services-apart',
    'Services speak to each other over the network. Tests may start one that another needs.',
    { path: '^services/([^/]+)/', pathNot: TESTS },
    { path: '^(services/(?!$1/)|deploy/|integration-tests/|bench/)' },
  ),
  forbid(
    'base-alone',
    'The base and the wire formats import no workspace.',
    { path: '^(proto|packages/base)/' },
    { path: '^(proto|packages/[^/]+)/', pathNot: '^$1/' },
  ),
  forbid(
    'objects-without-transport',
    'Kinds of objects are values and functions of values: no network, no storage, no process.',
    { path: '^packages/(objects|cel|apimachinery|custom-resources|kinds)/' },
    { path: '^(proto|packages/(tls|etcd|service|client|controller-runtime))/|^node_modules/(@grpc|pino|prom-client)/' },
  ),
  forbid(
    'transport-without-objects',
    'Certificates, etcd and the frame of a service work for any content.',
    { path: '^packages/(tls|etcd|service)/' },
    { path: '^packages/(objects|cel|apimachinery|custom-resources|kinds|client|controller-runtime)/' },
  ),
  forbid(
    'etcd-for-few',
    'Objects are read and written through the API server. Beside it, only those that elect a leader reach etcd.',
    { pathNot: `^packages/etcd/|^services/(apiserver|scheduler|controller-manager)/|${TESTS}` },
    { path: '^packages/etcd/' },
  ),
  forbid(
    'readers-without-kinds',
    'They read what the API server has validated: they need no kinds and no decoder.',
    { path: '^(services/(scheduler|dns|proxy|ingress)|deploy)/' },
    { path: '^packages/(cel|apimachinery|custom-resources|kinds)/' },
  ),
  forbid(
    'examples-as-users',
    'An example uses what users have: the package for operators, not the workspaces that it is made of.',
    { path: '^examples/' },
    { path: '^(proto|services|deploy|integration-tests|bench|packages/(?!operator/)[^/]+)/' },
  ),
  forbid(
    'examples-on-top',
    'Examples are for readers; tests of a cluster run them as processes.',
    { pathNot: '^examples/' },
    { path: '^examples/' },
  ),
  forbid(
    'examples-apart',
    'Each example can be copied alone.',
    { path: '^examples/([^/]+)/' },
    { path: '^examples/(?!$1/)' },
  ),
  forbid(
    'chaos-checker-alone',
    'The checker judges the other workspaces: it shares no code with them, and they do not depend on it.',
    { path: '^packages/chaos-checker/' },
    { path: '^(proto|deploy|integration-tests|bench|services/[^/]+|packages/(?!chaos-checker/)[^/]+)/' },
  ),
  forbid(
    'chaos-checker-for-tests',
    'It judges runs of a cluster; no service depends on it.',
    { pathNot: `^(packages/chaos-checker|integration-tests|bench|deploy)/|${TESTS}` },
    { path: '^packages/chaos-checker/' },
  ),
  forbid(
    'dockerode-in-its-adapter',
    'Only its adapters import it.',
    { pathNot: '^(services/agent/src/docker|deploy/src/rolling-update|integration-tests|bench)/' },
    { path: '/dockerode/' },
  ),
];

/** Workspaces by the names of their packages. */
const WORKSPACES = new Map(
  globSync('{proto,deploy,bench,integration-tests,packages/*,services/*,examples/*}/package.json').map((file) => {
    const { name, dependencies = {}, devDependencies = {} } = require(`./${file}`);
    // A package that bundles workspaces names them as its devDependencies.
    return [name, { folder: file.replace('/package.json', ''), dependencies: { ...dependencies, ...devDependencies } }];
  }),
);

const DECLARED = [
  forbid(
    'declared-packages',
    "The workspace's package.json names what it imports. All workspaces see the packages of the root.",
    { pathNot: `${TESTS}|/tools/|/(tsdown|vite)\\.config\\.ts$` },
    { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
  ),
  forbid(
    'by-name',
    'Another workspace is imported by the name of its package.',
    { path: '^((?:services|packages|examples)/[^/]+|proto|deploy|integration-tests|bench)/' },
    {
      path: '^(proto|deploy|integration-tests|bench|packages|services|examples)/',
      pathNot: '^$1/',
      dependencyTypes: ['local'],
    },
  ),
  ...[...WORKSPACES.values()].map(({ folder, dependencies }) =>
    forbid(
      `declared-by-${folder.replaceAll('/', '-')}`,
      "The workspace's package.json names the workspaces that it imports.",
      { path: `^${folder}/`, pathNot: `${TESTS}|/tools/` },
      {
        path: '^(proto|deploy|packages|services)/',
        pathNot: [folder, ...Object.keys(dependencies).flatMap((name) => WORKSPACES.get(name)?.folder ?? [])]
          .map((allowed) => `^${allowed}/`)
          .join('|'),
      },
    ),
  ),
];

const WITHIN_WORKSPACES = [
  forbid(
    'plans-reach-no-shell',
    'A plan is a function of values: nothing that it imports, directly or not, acts.',
    { path: '/plan\\.ts$' },
    { path: '^services/.*(/controller\\.ts|\\.shell\\.ts|/metrics/[^/]+\\.ts)$', reachable: true },
  ),
  forbid(
    'controllers-apart',
    'Controllers work together through objects. What several share is in libraries/.',
    { path: '^services/controller-manager/src/controllers/([^/]+)/', pathNot: TESTS },
    {
      path: '^services/controller-manager/src/controllers/[^/]+/',
      pathNot: '^services/controller-manager/src/controllers/$1/',
    },
  ),
  forbid(
    'libraries-below-controllers',
    'What several controllers share knows none of them.',
    { path: '^services/controller-manager/src/libraries/', pathNot: TESTS },
    { path: '^services/controller-manager/src/controllers/' },
  ),
  forbid(
    'scheduler-plugins-apart',
    'A plugin knows the framework alone.',
    { path: '^services/scheduler/src/plugins/[^/]+/', pathNot: TESTS },
    { path: '^services/scheduler/src/(?!plugins/|framework/)' },
  ),
  forbid(
    'framework-below-plugins',
    'The framework knows no plugin.',
    { path: '^services/scheduler/src/framework/', pathNot: TESTS },
    { path: '^services/scheduler/src/(?!framework/)' },
  ),
  forbid(
    'endpoints-on-top',
    "Endpoints translate protocols: the API server's own work needs none.",
    { path: '^services/apiserver/src/(?!endpoints/)[^/]+/', pathNot: TESTS },
    { path: '^services/apiserver/src/endpoints/' },
  ),
  forbid(
    'endpoints-through-registry',
    'What endpoints read and write passes the registry and the caches.',
    { path: '^services/apiserver/src/endpoints/', pathNot: TESTS },
    { path: '^services/apiserver/src/(storage|allocators|admission)/' },
  ),
  forbid(
    'registry-on-its-parts',
    'Storage, caches, authorisation and admission know no registry, no control loop.',
    {
      path: '^services/apiserver/src/(http|storage|cache|auth|audit|flow-control|webhooks|admission|allocators)/',
      pathNot: TESTS,
    },
    { path: '^services/apiserver/src/(registry/|loops/|loopback-client)' },
  ),
  forbid(
    'authorisation-alone',
    'Who may do what is decided without knowing how objects are stored, changed or served.',
    { path: '^services/apiserver/src/auth/', pathNot: TESTS },
    { path: '^services/apiserver/src/(storage|admission|allocators|webhooks|http)/' },
  ),
  forbid(
    'docker-behind-ports',
    "Docker is one container runtime: only the agent's entry knows it.",
    { path: '^services/agent/src/(?!docker/)[^/]+/', pathNot: TESTS },
    { path: '^services/agent/src/docker/' },
  ),
  forbid(
    'ports-alone',
    "The container runtime's interfaces are the lowest of the agent.",
    { path: '^services/agent/src/runtime/', pathNot: TESTS },
    { path: '^services/agent/src/(?!runtime/)' },
  ),
  forbid(
    'pod-decisions-alone',
    'What a pod needs is decided from its spec and from what runs.',
    { path: '^services/agent/src/(spec|plan)/', pathNot: TESTS },
    { path: '^services/agent/src/(?!spec/|plan/|runtime/|probes/)' },
  ),
  forbid(
    'rules-are-values',
    'The rules of a data plane are computed from objects, without the program that loads them.',
    { path: '^services/(proxy|ingress)/src/rules/', pathNot: TESTS },
    { path: '^services/$1/src/(?!rules/)' },
  ),
  forbid(
    'commands-on-top',
    'Commands are entries.',
    { path: '^deploy/src/(?!commands/)' },
    { path: '^deploy/src/commands/' },
  ),
];

module.exports = {
  forbidden: [
    forbid('no-circular', 'Cycles make files that are read only together.', {}, { circular: true }),
    forbid('unresolvable', 'The file does not exist.', {}, { couldNotResolve: true }),
    forbid(
      'product-without-tests',
      'What runs in a cluster has no code of tests.',
      { pathNot: TESTS },
      { path: TESTS },
    ),
    ...DECLARED,
    ...BETWEEN_WORKSPACES,
    ...WITHIN_WORKSPACES,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // A template is the files of another project, and the program of a package imports what is bundled.
    exclude: {
      path: '^(?!node_modules/).*/(dist|dist-tools)/|^packages/(create-gantry-controller/(template|bin)|operator/bin)/',
    },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['gantry-source', 'import', 'require', 'default', 'types'],
    },
  },
};
