import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { pagesRoute } from '../../app/root'

export const transferRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/transfers/$trackingId',
  staticData: { needs: 'transfers:read' },
  component: lazyRouteComponent(() => import('./TransferPage'), 'TransferPage'),
})
