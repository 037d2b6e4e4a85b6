import { must } from '@gantry/base';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createConsoleRouter } from './routes.tsx';
import { createQueries } from './shell/queries.ts';
import { SessionGate } from './shell/session-gate.tsx';
import './style.css';

const queries = createQueries();
const router = createConsoleRouter();

createRoot(must(document.getElementById('root'), 'index.html has an element #root')).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <SessionGate>
        <RouterProvider router={router} />
      </SessionGate>
    </QueryClientProvider>
  </StrictMode>,
);
