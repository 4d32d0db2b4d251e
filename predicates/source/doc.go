// Package source brings documents of predicates from where they are kept, and
// their changes, to whoever loads them.
//
//	configMap := source.NewConfigMap(client, "azure-disk-csi", "donewhen-predicates")
//	err := configMap.Run(ctx, func(s predicates.Source) {
//		if err := store.Update(s); err != nil {
//			logger.Error(err, "The last good predicates stay in force")
//		}
//	})
package source
