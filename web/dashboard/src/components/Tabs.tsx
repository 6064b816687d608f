import type { ReactNode } from 'react'
import { Tabs as AriaTabs, Tab, TabList, TabPanel } from 'react-aria-components'
import './Tabs.css'

interface TabItem {
  readonly id: string
  readonly label: string
  readonly content: ReactNode
  /** Keeps what the user has typed while another tab is shown. */
  readonly keep?: boolean
}

interface TabsProps {
  readonly label: string
  readonly items: readonly TabItem[]
  /** The shown tab, if the address determines it. */
  readonly selected?: string
  readonly onSelect?: (id: string) => void
}

export function Tabs({ label, items, selected, onSelect }: TabsProps) {
  return (
    <AriaTabs
      className="Tabs"
      onSelectionChange={(key) => onSelect?.(String(key))}
      {...(selected !== undefined && { selectedKey: selected })}
    >
      <TabList aria-label={label} className="Tabs-list">
        {items.map((item) => (
          <Tab key={item.id} id={item.id} className="Tabs-tab" ref={item.id === selected ? intoView : null}>
            {item.label}
          </Tab>
        ))}
      </TabList>
      {items.map(({ id, content, keep = false }) => (
        <TabPanel key={id} id={id} className="Tabs-panel" shouldForceMount={keep}>
          {content}
        </TabPanel>
      ))}
    </AriaTabs>
  )
}

/** Scrolls to the selected tab, because not all tabs fit on a phone. */
function intoView(tab: HTMLDivElement | null): void {
  tab?.scrollIntoView({ inline: 'center', block: 'nearest' })
}
