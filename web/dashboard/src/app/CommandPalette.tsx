import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import {
  Autocomplete,
  Dialog,
  Header,
  Input,
  Menu,
  MenuItem,
  MenuSection,
  Modal,
  ModalOverlay,
  TextField,
} from 'react-aria-components'
import { api } from '../api/api-client'
import type { SearchAnswer } from '../api/contract'
import { useAppearance } from './appearance'
import { useChosenLanguage } from './language'
import { useDestinations } from './navigation'
import { useSignOut } from './SignOut'
import { useText } from './texts'
import './CommandPalette.css'

interface CommandPaletteProps {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

/** Opens with Ctrl+K or Cmd+K. Finds pages, actions, transfers, merchants and users. */
export function CommandPalette({ open, onOpenChange }: CommandPaletteProps) {
  const text = useText()
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
      event.preventDefault()
      onOpenChange(!open)
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [open, onOpenChange])
  return (
    <ModalOverlay className="CommandPalette-ground" isOpen={open} onOpenChange={onOpenChange} isDismissable>
      <Modal className="CommandPalette">
        <Dialog aria-label={text('shell.palette')} className="CommandPalette-dialog">
          <Palette close={() => onOpenChange(false)} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

interface Entry {
  readonly id: string
  readonly title: string
  readonly subtitle?: string
  readonly run: () => void
}

const debounceMs = 150
const minSearchLength = 2

function Palette({ close }: { readonly close: () => void }) {
  const text = useText()
  const [typed, setTyped] = useState('')
  const query = useDebounced(typed.trim())
  const found = useQuery({
    queryKey: ['search', query],
    queryFn: ({ signal }) => api.get<SearchAnswer>('/search', { text: query }, signal),
    enabled: query.length >= minSearchLength,
  })
  const pages = matching(usePageEntries(), typed)
  const actions = matching(useActionEntries(), typed)
  const results = useResultEntries(query.length >= minSearchLength ? (found.data?.items ?? []) : [])
  const sections = [
    { title: text('shell.paletteResults'), entries: results },
    { title: text('shell.palettePages'), entries: pages },
    { title: text('common.actions'), entries: actions },
  ].filter(({ entries }) => entries.length > 0)
  const run = new Map(sections.flatMap(({ entries }) => entries.map((entry) => [entry.id, entry.run] as const)))
  const isSettled = query === typed.trim() && !found.isFetching
  const note = found.error
    ? text('shell.paletteFailed')
    : isSettled && sections.length === 0
      ? text('shell.paletteNothing', { text: typed.trim() })
      : isSettled
        ? text('shell.paletteHelp')
        : text('shell.paletteSearching')
  return (
    <Autocomplete inputValue={typed} onInputChange={setTyped}>
      <TextField aria-label={text('shell.palette')} autoFocus className="CommandPalette-field">
        <Input className="CommandPalette-input" placeholder={text('shell.palette')} />
      </TextField>
      <output className="CommandPalette-note">{note}</output>
      <Menu
        className="Options CommandPalette-list"
        aria-label={text('shell.palette')}
        onAction={(key) => {
          close()
          run.get(String(key))?.()
        }}
      >
        {sections.map(({ title, entries }) => (
          <MenuSection key={title}>
            <Header className="Options-title">{title}</Header>
            {entries.map(({ id, title: label, subtitle }) => (
              <MenuItem key={id} id={id} textValue={label} className="Option">
                <span>{label}</span>
                {subtitle && <span className="muted small">{subtitle}</span>}
              </MenuItem>
            ))}
          </MenuSection>
        ))}
      </Menu>
    </Autocomplete>
  )
}

/** Returns the typed text once typing pauses. */
function useDebounced(typed: string): string {
  const [settled, setSettled] = useState(typed)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(typed), debounceMs)
    return () => clearTimeout(timer)
  }, [typed])
  return settled
}

function matching(entries: readonly Entry[], typed: string): readonly Entry[] {
  const text = typed.trim().toLocaleLowerCase()
  return entries.filter(({ title }) => title.toLocaleLowerCase().includes(text))
}

function usePageEntries(): readonly Entry[] {
  const text = useText()
  const navigate = useNavigate()
  return useDestinations().map(({ to, label }) => ({ id: to, title: text(label), run: () => void navigate({ to }) }))
}

function useActionEntries(): readonly Entry[] {
  const text = useText()
  const { chooseTheme } = useAppearance()
  const { language, choose: chooseLanguage } = useChosenLanguage()
  const { signOut } = useSignOut()
  const other = language === 'en' ? 'tr' : 'en'
  return [
    ...(['light', 'dark', 'system'] as const).map((theme) => ({
      id: `theme-${theme}`,
      title: text('shell.themeAction', { theme: text(`shell.theme.${theme}`) }),
      run: () => chooseTheme(theme),
    })),
    { id: 'language', title: text('shell.otherLanguage'), run: () => chooseLanguage(other) },
    { id: 'sign-out', title: text('shell.signOut'), run: signOut },
  ]
}

function useResultEntries(items: SearchAnswer['items']): readonly Entry[] {
  const text = useText()
  const navigate = useNavigate()
  const go = {
    transfer: (trackingId: string) => navigate({ to: '/transfers/$trackingId', params: { trackingId } }),
    merchant: (merchantId: string) => navigate({ to: '/merchants/$merchantId', params: { merchantId } }),
    user: (userId: string) => navigate({ to: '/users/$userId', params: { userId } }),
  }
  return items.map(({ type, id, title, subtitle }) => ({
    id: `${type}-${id}`,
    title,
    subtitle: `${text(`shell.result.${type}`)} · ${subtitle}`,
    run: () => void go[type](id),
  }))
}
