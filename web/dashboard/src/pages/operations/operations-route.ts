import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { pagesRoute } from '../../app/root'

export const operationsRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/operations',
  staticData: { needs: 'operations:read' },
  component: lazyRouteComponent(() => import('./OperationsPage'), 'OperationsPage'),
})
