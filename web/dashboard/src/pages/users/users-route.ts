import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { pagesRoute } from '../../app/root'

export const usersRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/users',
  staticData: { needs: 'users:read' },
  component: lazyRouteComponent(() => import('./UsersPage'), 'UsersPage'),
})

export const userRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/users/$userId',
  staticData: { needs: 'users:read' },
  component: lazyRouteComponent(() => import('./UserPage'), 'UserPage'),
})
