import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, type Search } from './api-client'
import type { ApiError } from './api-error'

interface Paged<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

/** A list that is fetched page by page. `more` is undefined at its end. */
export function usePages<Item>(queryKey: QueryKey, path: string, search: Search) {
  const query = useInfiniteQuery<Paged<Item>, ApiError, readonly Item[], QueryKey, string | undefined>({
    queryKey,
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }) => api.get<Paged<Item>>(path, { ...search, cursor: pageParam }, signal),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: itemsOf,
    // Whoever comes back to the window finds the rows where they were.
    refetchOnWindowFocus: false,
  })
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = query
  return useMemo(() => {
    const more = { onMore: () => void fetchNextPage(), pending: isFetchingNextPage }
    return { items: data ?? [], query, more: hasNextPage ? more : undefined }
  }, [data, query, hasNextPage, isFetchingNextPage, fetchNextPage])
}

function itemsOf<Item>({ pages }: { readonly pages: readonly Paged<Item>[] }): readonly Item[] {
  return pages.flatMap(({ items }) => items)
}
