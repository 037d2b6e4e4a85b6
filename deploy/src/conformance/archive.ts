/** What the certification programme asks of a product beside the program's own report. */
import { stringify } from 'yaml';

export interface Product {
  readonly name: string;
  readonly version: string;
  /** The release whose tests were run, such as `v1.36.2`. */
  readonly release: string;
}

export function formatProduct({ name, version, release }: Product): string {
  return stringify({
    vendor: name,
    name,
    version: `v${version}`,
    website_url: '',
    repo_url: '',
    documentation_url: '',
    product_logo_url: '',
    type: 'distribution',
    description: `A container orchestrator that serves the API of Kubernetes ${release} and runs pods on Docker Engine.`,
    contact_email_address: '',
  });
}

export function formatReadme({ name, version, release }: Product): string {
  return `# ${name} v${version}: conformance with Kubernetes ${release}

How these results came about, on Debian as root, or with Docker and Go on any Linux:

\`\`\`sh
git clone <repository> && cd ${name}
npm run conformance:official
\`\`\`

The command compiles \`e2e.test\` and \`ginkgo\` from the Go module \`k8s.io/kubernetes\` ${release}, starts a cluster with five
nodes, and runs the conformance suite: the tests that may run together first, the serial ones after. \`e2e.log\` is the
program's output, \`junit_01.xml\` its report.
`;
}
