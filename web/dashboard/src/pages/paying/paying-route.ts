import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { pagesRoute } from '../../app/root'

export const payingRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/pay',
  staticData: { needs: 'transfers:settle' },
  component: lazyRouteComponent(() => import('./PayingPage'), 'PayingPage'),
})
