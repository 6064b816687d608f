import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { pagesRoute } from '../../app/root'

export const accountRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/account',
  staticData: { needs: 'account:own' },
  component: lazyRouteComponent(() => import('./AccountPage'), 'AccountPage'),
})
