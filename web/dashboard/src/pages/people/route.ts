import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { pagesRoute } from '../../app/root'

export const peopleRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/people',
  staticData: { needs: 'users:read' },
  component: lazyRouteComponent(() => import('./PeoplePage'), 'PeoplePage'),
})

export const personRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/people/$userId',
  staticData: { needs: 'users:read' },
  component: lazyRouteComponent(() => import('./PersonPage'), 'PersonPage'),
})
