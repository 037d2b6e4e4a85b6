import type { Pod, Service } from '@gantry/objects';
import type { ReactNode } from 'react';
import { addressOf } from '../api/http.ts';
import { objectPath } from '../api/kinds.ts';
import { kubectlOf } from '../objects/kubectl.ts';
import { useAllowedEach, useConsole } from '../shell/console-context.ts';
import { Kubectl } from '../shell/notices.tsx';
import { askedFor, PORTS } from './offers.ts';
import type { TabProps } from './use-object.ts';

interface Port {
  readonly name: string;
  readonly number: number;
}

/** Pages of a pod or Service, through the API server: each opens as a document without scripts. */
export function Ports({ kind, namespace, name, object }: TabProps): ReactNode {
  const { at } = useConsole();
  const asked = askedFor(PORTS, kind, namespace, name);
  const { may } = useAllowedEach(asked);
  const ports = kind.id === 'pods' ? portsOfPod(object as Pod) : portsOfService(object);
  const [first] = ports;
  if (first === undefined || at !== undefined || !asked.every(may)) return null;
  return (
    <section>
      <h2>Ports</h2>
      <ul className="ports">
        {ports.map((port) => (
          <li key={`${port.name} ${port.number}`}>
            <a
              href={addressOf(`${objectPath(kind, namespace, `${name}:${port.number}`)}/proxy/`)}
              target="_blank"
              rel="noreferrer"
            >
              {port.name} {port.number}
            </a>
          </li>
        ))}
      </ul>
      <Kubectl
        command={kubectlOf('port-forward', kind, namespace, name, `8080:${first.number}`).replace(
          `${kind.id} `,
          `${kind.id}/`,
        )}
      />
    </section>
  );
}

function portsOfPod({ spec }: Pod): readonly Port[] {
  return (spec?.containers ?? []).flatMap((container) =>
    (container.ports ?? [])
      .filter(({ protocol = 'TCP' }) => protocol === 'TCP')
      .map(({ name, containerPort }) => ({ name: name ?? container.name, number: containerPort })),
  );
}

function portsOfService({ spec }: Service): readonly Port[] {
  return (spec?.ports ?? [])
    .filter(({ protocol = 'TCP' }) => protocol === 'TCP')
    .map(({ name = '', port }) => ({ name, number: port }));
}
